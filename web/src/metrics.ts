// Metrics of a run, as the page has them: curves by metric and member, made longer as steps end.
import { get } from "./api";
import type { Point } from "./curve";

export interface MetricRow {
  step: number;
  width: number;
  member_id: string | null;
  mean: (number | null)[];
}

interface Answer {
  metrics: string[];
  level: number;
  rows: MetricRow[];
  next?: number;
}

/** The run's own curve, beside those of its members. */
export const whole = "";

export class Metrics {
  private curves = new Map<string, Map<string, Point[]>>();
  private loaded = new Set<string>();
  /** The last step that there are values of. */
  last = -1;

  constructor(
    private readonly run: string,
    private readonly level: number,
  ) {}

  /** Takes in `rows`, whose values are those of `names`. */
  add(names: string[], rows: MetricRow[]): void {
    for (const row of rows) {
      const member = row.member_id ?? whole;
      if (member === whole) this.last = Math.max(this.last, row.step + row.width - 1);
      names.forEach((name, place) => {
        const value = row.mean[place] ?? null;
        if (value === null && member !== whole) return;
        const points = this.of(name, member);
        const before = points.at(-1);
        if (!before || before[0] < row.step) points.push([row.step, value]);
      });
    }
  }

  /** The curve of `name` of one member, or of the run. */
  of(name: string, member: string = whole): Point[] {
    const members = this.curves.get(name) ?? new Map<string, Point[]>();
    this.curves.set(name, members);
    const points = members.get(member) ?? [];
    members.set(member, points);
    return points;
  }

  /** Members that have values of `name`. */
  members(name: string): string[] {
    return [...(this.curves.get(name) ?? [])].filter(([id, points]) => id !== whole && points.length > 0).map(([id]) => id);
  }

  /** Gets the members' curves of `names`, once. */
  async loadMembers(names: string[]): Promise<void> {
    const missing = names.filter((name) => !this.loaded.has(name));
    if (missing.length === 0) return;
    for (const name of missing) this.loaded.add(name);
    let from = 0;
    for (;;) {
      const query = new URLSearchParams({ metrics: missing.join(","), level: String(this.level), from: String(from), to: String(Math.max(0, this.last)) });
      const answer = await get<Answer>(`/api/v1/runs/${this.run}/metrics?${query}`);
      this.add(answer.metrics, answer.rows.filter((row) => row.member_id !== null));
      if (answer.next === undefined) return;
      from = answer.next;
    }
  }

  /** Gets the steps that have ended since. */
  async loadNew(): Promise<boolean> {
    const answer = await get<Answer>(`/api/v1/runs/${this.run}/metrics?level=0&from=${this.last + 1}`);
    this.add(answer.metrics, answer.rows);
    return answer.rows.length > 0;
  }
}
