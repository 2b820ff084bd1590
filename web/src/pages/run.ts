// The overview of a run: its curves, and what goes on in it.
import { LegendComponent, ToolboxComponent } from "echarts/components";
import { type Chart, type TipLine, axis, draw, echarts, short, tip, tooltip, whenNear } from "../chart";
import { type Point, evenly, mean, smooth } from "../curve";
import { island } from "../island";
import { watch } from "../live";
import { type MetricRow, Metrics } from "../metrics";
import { type Palette, faint } from "../palette";
import { replacePart } from "../part";
import { say } from "../say";

echarts.use([LegendComponent, ToolboxComponent]);

interface Member {
  id: string;
  name: string;
  roles: string[];
}

interface ChartSpec {
  name: string;
  title: string;
  metrics: string[];
  parts: boolean;
  side: "proposing" | "solving" | null;
}

interface Data {
  run: string;
  state: string;
  last_event: number;
  metrics: string[];
  groups: { title: string; charts: ChartSpec[] }[];
  members: Member[];
  level: number;
  rows: MetricRow[];
}

const data = island<Data>();
const members = new Map(data.members.map((member) => [member.id, member]));
const metrics = new Metrics(data.run, data.level);
metrics.add(data.metrics, data.rows);

const settings = { smoothing: 0, log: false, members: true, from: undefined as number | undefined, to: undefined as number | undefined };

interface Line {
  name: string;
  colour: string;
  points: Point[];
  bold: boolean;
}

const sides = {
  proposing: ["teacher", "proposer", "challenger", "planner"],
  solving: ["student", "solver"],
};

/** What a chart draws: parts of one thing, or members and the means of their roles. */
function lines(spec: ChartSpec, colours: Palette): Line[] {
  if (spec.parts) {
    return spec.metrics.map((metric, index) => ({
      name: metric.replaceAll("_", " "),
      colour: roleColour(metric.split("_")[0] ?? "", colours) ?? colours.series[index % colours.series.length] ?? colours.accent,
      points: metrics.of(metric),
      bold: true,
    }));
  }
  const metric = spec.metrics[0] ?? "";
  const byRole = new Map<string, Line[]>();
  if (settings.members) {
    // A teacher's row tells of the attempts at its problems too, so both sides may have the metric; it is one side's.
    const ids = metrics.members(metric);
    const ofSide = ids.filter((id) => spec.side === null || members.get(id)?.roles.some((role) => sides[spec.side!].includes(role)));
    for (const id of ofSide.length > 0 ? ofSide : ids) {
      const member = members.get(id);
      const role = member?.roles.join(" and ") ?? "member";
      const colour = faint(roleColour(role, colours) ?? colours.accent, 0.45);
      const line = { name: member?.name ?? id.slice(-8), colour, points: metrics.of(metric, id), bold: false };
      byRole.set(role, [...(byRole.get(role) ?? []), line]);
    }
  }
  const own: Line = { name: "run", colour: colours.accent, points: metrics.of(metric), bold: true };
  const means = [...byRole].map(([role, thin]) => ({
    name: `mean of ${role}s`,
    colour: roleColour(role, colours) ?? colours.accent,
    points: mean(thin.map((line) => line.points)),
    bold: true,
  }));
  return [...[...byRole.values()].flat(), ...(means.length > 0 ? means : [own])];
}

function roleColour(role: string, colours: Palette): string | undefined {
  if (sides.proposing.includes(role)) return colours.teacher;
  if (sides.solving.includes(role)) return colours.student;
  return undefined;
}

function option(spec: ChartSpec, colours: Palette) {
  const drawn = lines(spec, colours);
  const bold = drawn.filter((line) => line.bold);
  const positive = (value: number | null) => (settings.log && value !== null && value <= 0 ? null : value);
  return {
    grid: { left: 8, right: 16, top: bold.length > 1 ? 34 : 14, bottom: 6, containLabel: true },
    legend: {
      show: bold.length > 1,
      data: bold.map((line) => line.name),
      textStyle: { color: colours.text },
      inactiveColor: colours.muted,
      top: 0,
      type: "scroll",
      pageTextStyle: { color: colours.text },
      itemWidth: 16,
      itemHeight: 8,
    },
    xAxis: axis(colours, { type: "value", min: settings.from ?? "dataMin", max: settings.to ?? "dataMax", minInterval: 1, splitLine: { show: false } }),
    yAxis: axis(colours, { type: settings.log ? "log" : "value", scale: true, axisLabel: { color: colours.muted, formatter: short } }),
    // Dragging zooms; the select tool is switched on below and its buttons are not shown.
    toolbox: { show: true, itemSize: 0, feature: { dataZoom: { yAxisIndex: "none", filterMode: "none" } } },
    tooltip: tooltip(colours, {
      trigger: "axis",
      formatter: (hovered: { seriesName: string; seriesIndex: number; color: string; value: Point }[]) => {
        const step = hovered[0]?.value[0] ?? 0;
        const all: TipLine[] = hovered.map((one) => ({
          colour: one.color,
          label: one.seriesName,
          value: short(one.value[1]),
          strong: drawn[one.seriesIndex]?.bold ?? false,
        }));
        const first = all.filter((line) => line.strong).concat(all.filter((line) => !line.strong));
        const shown = first.slice(0, 12);
        if (first.length > shown.length) shown.push({ label: `and ${first.length - shown.length} more`, value: "" });
        return tip(`Step ${step}`, shown);
      },
    }),
    series: drawn.map((line) => ({
      type: "line",
      name: line.name,
      data: smooth(line.points, settings.smoothing).map(([step, value]) => [step, positive(value)]),
      showSymbol: line.points.length < 2,
      symbolSize: 5,
      itemStyle: { color: line.colour },
      lineStyle: { color: line.colour, width: line.bold ? 2.5 : 1 },
      z: line.bold ? 3 : 2,
      emphasis: { disabled: true },
      animation: false,
    })),
  };
}

const drawn = new Map<ChartSpec, { chart: Chart; figure: HTMLElement }>();

function redraw(): void {
  for (const { chart } of drawn.values()) {
    chart.redraw();
    zoomByDragging(chart);
  }
}

function zoomByDragging(chart: Chart): void {
  chart.instance.dispatchAction({ type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true });
}

function begin(figure: HTMLElement, spec: ChartSpec, group: ChartSpec[]): void {
  const chart = draw(figure, (colours) => option(spec, colours));
  drawn.set(spec, { chart, figure });
  zoomByDragging(chart);
  chart.instance.on("datazoom", (event: unknown) => {
    const zoom = (event as { batch?: { startValue?: number; endValue?: number }[] }).batch?.[0];
    if (zoom?.startValue === undefined || zoom.endValue === undefined) return;
    showRange(Math.floor(zoom.startValue), Math.ceil(zoom.endValue));
  });
  chart.instance.getZr().on("dblclick", () => showRange(undefined, undefined));
  figure.querySelector("details")?.addEventListener("toggle", () => fillTable(figure, spec));
  const own = group.filter((one) => !one.parts).flatMap((one) => one.metrics);
  if (settings.members && own.length > 0) {
    metrics.loadMembers(own).then(redraw, () => say("The members' curves could not be loaded.", true));
  }
}

function showRange(from: number | undefined, to: number | undefined): void {
  settings.from = from;
  settings.to = to;
  for (const [id, value] of [["from", from], ["to", to]] as const) {
    const field = document.querySelector<HTMLInputElement>(`#${id}`);
    if (field) field.value = value === undefined ? "" : String(value);
  }
  redraw();
}

/** Writes a chart's table anew from the curves that it draws. */
function fillTable(figure: HTMLElement, spec: ChartSpec): void {
  const details = figure.querySelector("details");
  const body = figure.querySelector("tbody");
  if (!details?.open || !body) return;
  const columns = spec.metrics.map((metric) => new Map(metrics.of(metric)));
  const steps = evenly(metrics.of(spec.metrics[0] ?? ""), 12).map(([step]) => step);
  body.replaceChildren(
    ...steps.map((step) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = String(step);
      const cells = columns.map((column) => {
        const cell = document.createElement("td");
        cell.textContent = short(column.get(step));
        return cell;
      });
      row.append(head, ...cells);
      for (const cell of row.children) cell.className = "number";
      return row;
    }),
  );
}

for (const group of data.groups) {
  for (const spec of group.charts) {
    const figure = document.querySelector<HTMLElement>(`[data-chart="${CSS.escape(spec.name)}"]`);
    if (figure) whenNear(figure, () => begin(figure, spec, group.charts));
  }
}

const field = <T extends HTMLElement>(id: string): T => document.querySelector<T>(`#${id}`)!;
field<HTMLInputElement>("smoothing").addEventListener("input", (event) => {
  settings.smoothing = Number((event.target as HTMLInputElement).value);
  field<HTMLOutputElement>("smoothing-value").value = settings.smoothing.toFixed(2);
  redraw();
});
field<HTMLInputElement>("log").addEventListener("change", (event) => {
  settings.log = (event.target as HTMLInputElement).checked;
  redraw();
});
field<HTMLInputElement>("shown-members").addEventListener("change", (event) => {
  settings.members = (event.target as HTMLInputElement).checked;
  const own = data.groups.flatMap((group) => group.charts).filter((spec) => drawn.has(spec) && !spec.parts).flatMap((spec) => spec.metrics);
  if (settings.members) void metrics.loadMembers(own).then(redraw);
  redraw();
});
for (const id of ["from", "to"] as const) {
  field<HTMLInputElement>(id).addEventListener("change", (event) => {
    const value = (event.target as HTMLInputElement).value;
    settings[id] = value === "" ? undefined : Number(value);
    redraw();
  });
}
field<HTMLFormElement>("curves").addEventListener("submit", (event) => event.preventDefault());

if (data.state === "running" || data.state === "paused") {
  watch(data.run, data.last_event, (events) => {
    if (events.some((event) => event.kind === "state" && event.data.state !== data.state)) {
      location.reload();
      return;
    }
    void replacePart("now", `/runs/${data.run}/now`);
    if (!events.some((event) => event.kind === "step_finished")) return;
    metrics.loadNew().then(
      (more) => {
        if (!more) return;
        redraw();
        for (const [spec, { figure }] of drawn) fillTable(figure, spec);
      },
      () => say("New steps could not be loaded; the page goes on trying.", true),
    );
  }, 1000);
}
