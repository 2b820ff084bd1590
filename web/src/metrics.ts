// The page's copy of a run's metrics: curves by metric and member, extended as steps end.
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

/** The lowest level of aggregation (means over 4, 16, … steps) at which `steps` give at most `points` points. */
export function levelFor(steps: number, points: number): number {
  let level = 0;
  while (level < 8 && Math.ceil(steps / 4 ** level) > points) level += 1;
  return level;
}

/** The run's own curve, next to those of its members. */
export const whole = "";

export class Metrics {
  private curves = new Map<string, Map<string, Point[]>>();
  private loaded = new Set<string>();
  /** The last step with values. */
  last = -1;

  constructor(
    private readonly run: string,
    readonly level: number,
  ) {}

  /** Adds `rows`, whose columns are `names`. */
  add(names: string[], rows: MetricRow[]): void {
    // A chart that is drawn late gets the start of its members' curves after newer steps have already arrived.
    const late = new Map<Point[], Set<number>>();
    for (const row of rows) {
      const member = row.member_id ?? whole;
      if (member === whole) this.last = Math.max(this.last, row.step + row.width - 1);
      names.forEach((name, place) => {
        const value = row.mean[place] ?? null;
        if (value === null && member !== whole) return;
        const points = this.of(name, member);
        const before = points.at(-1);
        if (before && before[0] >= row.step) {
          const known = late.get(points) ?? new Set(points.map(([step]) => step));
          late.set(points, known);
          if (known.has(row.step)) return;
          known.add(row.step);
        }
        points.push([row.step, value]);
      });
    }
    for (const points of late.keys()) points.sort(([one], [other]) => one - other);
  }

  /** The curve of `name` of one member, or of the run. */
  of(name: string, member: string = whole): Point[] {
    const members = this.curves.get(name) ?? new Map<string, Point[]>();
    this.curves.set(name, members);
    const points = members.get(member) ?? [];
    members.set(member, points);
    return points;
  }

  /** Members with values of `name`. */
  members(name: string): string[] {
    return [...(this.curves.get(name) ?? [])].filter(([id, points]) => id !== whole && points.length > 0).map(([id]) => id);
  }

  /** Loads the members' curves of `names`, once. */
  async loadMembers(names: string[]): Promise<void> {
    await this.load(names, 0, Math.max(0, this.last), (row) => row.member_id !== null);
  }

  /** Loads all curves of `names` from step `from` to step `to`, once. */
  async loadRange(names: string[], from: number, to: number): Promise<void> {
    await this.load(names, from, to, () => true);
  }

  private async load(names: string[], from: number, to: number, wanted: (row: MetricRow) => boolean): Promise<void> {
    const missing = names.filter((name) => !this.loaded.has(name));
    if (missing.length === 0) return;
    for (const name of missing) this.loaded.add(name);
    let next: number | undefined = from;
    while (next !== undefined) {
      const query = new URLSearchParams({ metrics: missing.join(","), level: String(this.level), from: String(next), to: String(to) });
      const answer: Answer = await get<Answer>(`/api/v1/runs/${this.run}/metrics?${query}`).catch((error: unknown) => {
        for (const name of missing) this.loaded.delete(name);
        throw error;
      });
      this.add(answer.metrics, answer.rows.filter(wanted));
      next = answer.next;
    }
  }

  /** Loads newly ended steps. */
  async loadNew(): Promise<boolean> {
    const answer = await get<Answer>(`/api/v1/runs/${this.run}/metrics?level=0&from=${this.last + 1}`);
    this.add(answer.metrics, answer.rows);
    return answer.rows.length > 0;
  }
}
