// All metrics of a run as curves, and the search among them.
import { MarkLineComponent } from "echarts/components";
import { type Chart, type TipLine, axis, draw, echarts, horizontal, legendOf, measured, rawBehind, tip, tooltip, vertical, whenNear } from "../chart";
import { type Point, evenly, isCount, isSparse, mean, smooth } from "../curve";
import { measure } from "../format";
import { island } from "../island";
import { watch } from "../live";
import { type MetricRow, Metrics, levelFor, whole } from "../metrics";
import { pageAt, take } from "../page";
import { type Palette, faint, shade } from "../palette";
import { startPins } from "../pins";
import { say } from "../say";
import { settings, showRange, startSettings } from "../settings";

/** A side of a problem: the roles of a recipe that propose, solve, plan or judge. */
type Side = "proposing" | "solving" | "planning" | "judging";

interface Member {
  id: string;
  name: string;
  /** The sides of its roles. */
  sides: Side[];
  /** The members it is averaged with, such as "teachers". */
  group: string;
}

interface ChartSpec {
  name: string;
  title: string;
  metrics: string[];
  labels: string[];
  /** The side each metric is about, if it is about one only. */
  sides: (Side | null)[];
  parts: boolean;
  side: Side | null;
  /** Such as "share" or "tokens"; empty for plain numbers. */
  unit: string;
}

interface Data {
  run: string;
  state: string;
  last_event: number;
  /** The first step of its own, if it was forked. */
  forked_at_step: number | null;
  metrics: string[];
  groups: { title: string; charts: ChartSpec[]; constant: ChartSpec[]; empty: ChartSpec[] }[];
  members: Member[];
  level: number;
  rows: MetricRow[];
}

echarts.use([MarkLineComponent]);

const data = island<Data>();
const members = new Map(data.members.map((member) => [member.id, member]));
const metrics = new Metrics(data.run, data.level);
metrics.add(data.metrics, data.rows);

/** Points per curve for a zoomed range. */
const finePoints = 600;

/** Data for the zoomed range, if finer than the page's own. */
let fine: { from: number; to: number; metrics: Metrics } | undefined;

/** A curve at the finest resolution available for the steps shown. */
function curve(metric: string, member: string = whole): Point[] {
  const finer = fine?.metrics.of(metric, member) ?? [];
  return finer.length > 0 ? finer : metrics.of(metric, member);
}

interface Line {
  name: string;
  colour: string;
  points: Point[];
  bold: boolean;
}

/** The series of a chart: parts of a whole, or members and role means. */
function lines(spec: ChartSpec, colours: Palette): Line[] {
  if (spec.parts) {
    return spec.metrics.map((metric, index) => ({
      name: spec.labels[index] ?? metric,
      colour: sideColour(spec.sides[index], colours) ?? colours.series[index % colours.series.length] ?? colours.accent,
      points: curve(metric),
      bold: true,
    }));
  }
  const metric = spec.metrics[0] ?? "";
  const byGroup = new Map<string, Line[]>();
  const groupColours = new Map<string, string>();
  if (settings.members) {
    // A proposer's row also covers attempts at its problems, so both sides may have the metric; draw it for one side
    // only.
    const ids = metrics.members(metric);
    const ofSide = ids.filter((id) => spec.side === null || members.get(id)?.sides.includes(spec.side));
    const shown = ofSide.length > 0 ? ofSide : ids;
    const groupOf = (id: string) => members.get(id)?.group ?? "members";
    for (const id of shown) {
      const member = members.get(id);
      const group = groupOf(id);
      // A member on several sides has no colour of its own.
      const colour = sideColour(member?.sides.length === 1 ? member.sides[0] : undefined, colours) ?? colours.accent;
      const mates = shown.filter((other) => groupOf(other) === group);
      const own = shade(colour, mates.indexOf(id), mates.length);
      const line = { name: member?.name ?? id.slice(-8), colour: faint(own, 0.55), points: curve(metric, id), bold: false };
      groupColours.set(group, colour);
      byGroup.set(group, [...(byGroup.get(group) ?? []), line]);
    }
  }
  const own: Line = { name: "run", colour: colours.accent, points: curve(metric), bold: true };
  const means = [...byGroup].map(([group, thin]) => ({
    name: `mean of ${group}`,
    colour: groupColours.get(group) ?? colours.accent,
    points: mean(thin.map((line) => line.points)),
    bold: true,
  }));
  return [...[...byGroup.values()].flat(), ...(means.length > 0 ? means : [own])];
}

function sideColour(side: Side | null | undefined, colours: Palette): string | undefined {
  return side ? colours[side] : undefined;
}

/** A line where a fork leaves its run: what is left of it is inherited. */
function forkLine(colours: Palette) {
  if (!data.forked_at_step) return {};
  return {
    markLine: {
      silent: true,
      symbol: "none",
      label: { formatter: "fork", position: "insideEndTop", color: colours.muted },
      lineStyle: { color: colours.muted, type: "dashed" },
      data: [{ xAxis: data.forked_at_step }],
    },
  };
}

function option(spec: ChartSpec, colours: Palette, width: number) {
  const drawn = lines(spec, colours);
  const bold = drawn.filter((line) => line.bold);
  const { legend, top } = legendOf(colours, bold.map((line) => line.name), width);
  const positive = (value: number | null) => (settings.log && value !== null && value <= 0 ? null : value);
  const isShare = spec.unit === "share" && !settings.log && drawn.every(({ points }) => points.every(([, value]) => value === null || (value >= 0 && value <= 1)));
  // The steps that a fork inherited are dashed, up to its first own one.
  const inherited = data.forked_at_step ?? 0;
  const isPast = ([step]: Point) => step < inherited;
  const stepsPerPoint = 4 ** (fine?.metrics ?? metrics).level;
  const isSmoothed = (line: Line) => settings.smoothing > 0 && !isCount(line.points, stepsPerPoint);
  const values = drawn.map((line) => (isSmoothed(line) ? smooth(line.points, settings.smoothing) : line.points).map(([step, value]): Point => [step, positive(value)]));
  const own = values.map((points) => points.filter((point) => !isPast(point)));
  const past = values.map((points, index) => [...points.filter(isPast), ...(own[index] ?? []).slice(0, 1)]);
  const sections = inherited > 0 ? [own, past] : [own];
  const raw = bold.filter((line) => isSmoothed(line) && !isSparse(line.points));
  const inView = (points: Point[]) => points.filter(([step]) => step >= (settings.from ?? step) && step <= (settings.to ?? step));
  const heights = [...values, ...raw.map((line) => line.points)].flatMap((points) => inView(points).flatMap(([, value]) => (value === null ? [] : [value])));
  const steps = drawn.flatMap((line) => line.points.map(([step]) => step));
  return {
    grid: { left: 8, right: 16, top: (bold.length > 1 ? top + 14 : 14) + 12, bottom: 22, containLabel: true },
    legend: { ...legend, show: bold.length > 1 },
    xAxis: axis(colours, { ...horizontal(colours, steps, true), name: "step", nameLocation: "middle", nameGap: 22, splitLine: { show: false } }),
    yAxis: axis(colours, { ...vertical(colours, isShare ? [0, 1] : heights, settings.log, spec.unit), name: spec.unit === "share" ? "" : spec.unit, nameTextStyle: { color: colours.muted, align: "left" } }),
    tooltip: tooltip(colours, {
      trigger: "axis",
      formatter: (hovered: { seriesName: string; seriesIndex: number; color: string; value: Point }[]) => {
        const step = hovered[0]?.value[0] ?? 0;
        const lines = new Map(hovered.filter((one) => one.seriesIndex < sections.length * drawn.length).map((one) => [one.seriesIndex % drawn.length, one]));
        const all: TipLine[] = [...lines].map(([index, one]) => ({
          colour: one.color,
          label: one.seriesName,
          value: measured(drawn[index]?.points.find(([at]) => at === step)?.[1], one.value[1], spec.unit),
          strong: drawn[index]?.bold ?? false,
        }));
        const first = all.filter((line) => line.strong).concat(all.filter((line) => !line.strong));
        const shown = first.slice(0, 12);
        if (first.length > shown.length) shown.push({ label: `and ${first.length - shown.length} more`, value: "" });
        return tip(`Step ${step} (click for its samples)`, shown);
      },
    }),
    series: [...sections.flatMap((parts, part) => drawn.map((line, index) => ({
      ...(index === 0 && part === 0 && forkLine(colours)),
      // Measurements every so many steps are joined; a single missing value is a gap.
      connectNulls: isSparse(line.points),
      type: "line",
      name: line.name,
      data: parts[index] ?? [],
      values: line.points,
      // Only one of the two parts of a line is in the file of its values.
      raw: part === 1,
      // A legend draws the symbol even if the line has none.
      symbol: line.points.length < 2 || isSparse(line.points) ? "circle" : "none",
      symbolSize: 5,
      itemStyle: { color: line.colour },
      lineStyle: { color: line.colour, width: line.bold ? 2.5 : 1, type: part === 1 ? "dashed" : "solid" },
      z: line.bold ? 3 : 2,
      emphasis: { disabled: true },
    }))), ...raw.map((line) => rawBehind(line.points.map(([step, value]) => [step, positive(value)]), line.colour))],
  };
}

const drawn = new Map<ChartSpec, { chart: Chart; figure: HTMLElement }>();

function redraw(): void {
  for (const { chart } of drawn.values()) chart.redraw();
}

/** Metrics of the charts drawn so far. */
const shown = (): string[] => [...new Set([...drawn.keys()].flatMap((spec) => spec.metrics))];

/** Loads the zoomed steps if finer data exists. */
async function refine(): Promise<void> {
  const from = Math.max(0, settings.from ?? 0);
  const to = Math.min(settings.to ?? metrics.last, metrics.last);
  const level = levelFor(to - from + 1, finePoints);
  if (to < from || level >= data.level) {
    fine = undefined;
    return;
  }
  if (fine?.from !== from || fine.to !== to) fine = { from, to, metrics: new Metrics(data.run, level) };
  const asked = fine;
  await asked.metrics.loadRange(shown(), from, to);
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Handles a change of the settings. */
function changed(): void {
  redraw();
  clearTimeout(timer);
  timer = setTimeout(() => {
    const own = [...drawn.keys()].filter((spec) => !spec.parts).flatMap((spec) => spec.metrics);
    const members = settings.members ? metrics.loadMembers(own) : undefined;
    Promise.all([members, refine()]).then(redraw, () => say("These steps could not be loaded.", true));
  }, 100);
}

function begin(figure: HTMLElement, spec: ChartSpec, group: ChartSpec[]): void {
  const chart = draw(
    figure,
    (colours, width) => option(spec, colours, width),
    (ends) => (ends ? showRange(Math.floor(ends[0]), Math.ceil(ends[1])) : showRange(undefined, undefined)),
    (step) => location.assign(samplesOf(nearest(spec, step))),
  );
  drawn.set(spec, { chart, figure });
  figure.querySelector("details")?.addEventListener("toggle", () => fillTable(figure, spec));
  const own = group.filter((one) => !one.parts).flatMap((one) => one.metrics);
  const members = settings.members && own.length > 0 ? metrics.loadMembers(own) : undefined;
  if (!members && !fine) return;
  Promise.all([members, fine && refine()]).then(redraw, () => say("The members' curves could not be loaded.", true));
}

/** Where the problems of a step and the answers to them are. */
const samplesOf = (step: number): string => `/runs/${data.run}/samples?step=${step}`;

/** The step with a value that is closest to a place on a chart's axis. */
function nearest(spec: ChartSpec, place: number): number {
  const steps = curve(spec.metrics[0] ?? "").map(([step]) => step);
  return steps.reduce((best, step) => (Math.abs(step - place) < Math.abs(best - place) ? step : best), steps[0] ?? Math.round(place));
}

/** Rebuilds a chart's table from its curves. */
function fillTable(figure: HTMLElement, spec: ChartSpec): void {
  const details = figure.querySelector("details");
  const body = figure.querySelector("tbody");
  if (!details?.open || !body) return;
  const inRange = ([step]: Point) => step >= (settings.from ?? step) && step <= (settings.to ?? step);
  const columns = spec.metrics.map((metric) => new Map(curve(metric)));
  const steps = evenly(curve(spec.metrics[0] ?? "").filter(inRange), 12).map(([step]) => step);
  body.replaceChildren(
    ...steps.map((step) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      const link = document.createElement("a");
      link.href = samplesOf(step);
      link.textContent = String(step);
      head.append(link);
      const cells = columns.map((column) => {
        const cell = document.createElement("td");
        cell.textContent = measure(column.get(step), spec.unit);
        return cell;
      });
      row.append(head, ...cells);
      for (const cell of row.children) cell.className = "number";
      return row;
    }),
  );
}

startPins();

const specs = data.groups.flatMap(({ charts, constant }) => [...charts, ...constant]);
const figureOf = (spec: ChartSpec) => document.querySelector<HTMLElement>(`[data-chart="${CSS.escape(spec.name)}"]`);

for (const group of data.groups) {
  for (const spec of [...group.charts, ...group.constant]) {
    const figure = figureOf(spec);
    if (figure) whenNear(figure, () => begin(figure, spec, group.charts));
  }
}

startSettings(changed);

const search = document.querySelector<HTMLInputElement>("#find-chart");

/** Hides the charts that have the words neither in their title nor in the names of their metrics. */
function find(): void {
  const words = (search?.value ?? "").toLowerCase().split(/\s+/);
  for (const spec of specs) {
    const text = [spec.title, ...spec.metrics].join(" ").toLowerCase();
    const figure = figureOf(spec);
    if (figure) figure.hidden = !words.every((word) => text.includes(word));
  }
  const isSearched = words.some((word) => word !== "");
  for (const folded of document.querySelectorAll<HTMLDetailsElement>("details.constant")) {
    folded.open = isSearched && folded.querySelector("figure:not([hidden])") !== null;
  }
  const missed = document.querySelector<HTMLElement>("#not-found");
  if (missed) missed.hidden = document.querySelector("figure[data-chart]:not([hidden])") !== null;
}

search?.addEventListener("input", find);
// Browsers may restore the words when navigating back.
if (search?.value) find();

/** Whether a chart that the page only names has a value by now. */
const isNews = (): boolean => data.groups.some(({ empty }) => empty.some(({ metrics: names }) => names.some((name) => metrics.of(name, whole).some(([, value]) => value !== null))));

if (data.state === "running" || data.state === "paused") {
  watch(`runs/${data.run}`, data.last_event, (events) => {
    if (events.some((event) => event.kind === "state" || event.kind === "renamed")) {
      pageAt(location.href).then((page) => page && take(page, "head"), complain);
    }
    if (!events.some((event) => event.kind === "step_finished")) return;
    metrics.loadNew().then((more) => {
      if (!more) return;
      if (isNews()) return location.reload();
      if (fine) changed();
      else redraw();
      for (const [spec, { figure }] of drawn) fillTable(figure, spec);
    }, complain);
  }, 1000);
}

function complain(): void {
  say("The update could not be loaded; retrying.", true);
}
