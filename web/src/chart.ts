// Charts: Apache ECharts with shared defaults. A module that needs other chart types registers them:
// `echarts.use([HeatmapChart, VisualMapComponent])`.
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import * as echarts from "echarts/core";
import { LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, TooltipComponent } from "echarts/components";
import { install as CanvasRenderer } from "echarts/lib/renderer/installCanvasRenderer.js";
import { brush } from "./brush";
import { csvLine, download } from "./download";
import { measure } from "./format";
import { type Palette, palette } from "./palette";
import { say } from "./say";
import { scaleOf, tickText, ticksWithin } from "./scale";
import { settings } from "./settings";
import { themeChanged } from "./theme";

echarts.use([LineChart, GridComponent, LegendComponent, TooltipComponent, CanvasRenderer]);

export { echarts };

/** A chart on the page. */
export interface Chart {
  readonly instance: EChartsType;
  /** Redraws after a change of data or settings. */
  redraw(): void;
}

/** The range selected by dragging, in x-axis values; nothing for the full range. */
export type Zoomed = (ends?: [number, number]) => void;

/**
 * Draws a chart into the element `.canvas` of `figure` with the option from `build`, and again whenever the theme
 * changes. Dragging over it or double-clicking calls `zoomed`, a click calls `picked` with its place on the x axis. The
 * stylesheet fixes the canvas size, so the layout does not shift.
 */
export function draw(figure: HTMLElement, build: (colours: Palette, width: number) => EChartsCoreOption, zoomed?: Zoomed, picked?: (x: number) => void): Chart {
  const canvas = figure.querySelector<HTMLElement>(".canvas");
  if (!canvas) throw new Error("a figure without .canvas");
  const instance = echarts.init(canvas, null, { renderer: "canvas" });
  const redraw = () => instance.setOption(framed(build(palette(), instance.getWidth())), { notMerge: true });
  instance.on("rendered", markFirst);
  redraw();
  if (zoomed) brush(canvas, instance, zoomed, picked);
  canvas.dataset.drawn = "true";
  new ResizeObserver(() => {
    if (canvas.clientWidth === instance.getWidth() && canvas.clientHeight === instance.getHeight()) return;
    instance.resize();
    redraw();
  }).observe(canvas);
  addEventListener(themeChanged, redraw);
  figure.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-save]") : null;
    if (button) save(figure, instance, button.dataset.save ?? "png").catch(() => say("The chart could not be saved.", true));
  });
  return { instance, redraw };
}

let isFirst = true;

/** Marks when the page's first chart was drawn: `web/tests/first-chart.mjs` reads it. */
function markFirst(): void {
  if (isFirst) performance.mark("lyceum:first-chart");
  isFirst = false;
}

/** A legend above a chart of this width, and the top of the chart below it. */
export function legendOf(colours: Palette, names: string[], width: number): { legend: Record<string, unknown>; top: number } {
  const item = (name: string) => 32 + name.length * 6.5;
  let [rows, row] = [1, 0];
  for (const name of names) {
    if (row > 0 && row + item(name) > width - 16) [rows, row] = [rows + 1, 0];
    row += item(name);
  }
  const legend = {
    data: names,
    top: 0,
    left: 4,
    itemWidth: 16,
    itemHeight: 8,
    itemGap: 8,
    textStyle: { color: colours.text },
    inactiveColor: colours.muted,
  };
  return { legend, top: rows * 20 };
}

/** Calls `first` when the figure is about to scroll into view, so charts far down the page cost nothing until then. */
export function whenNear(figure: HTMLElement, first: () => void): void {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      first();
    },
    { rootMargin: "400px" },
  );
  observer.observe(figure);
}

function framed(option: EChartsCoreOption): EChartsCoreOption {
  const colours = palette();
  return {
    // Charts are redrawn with every step and would be animating all the time.
    animation: false,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colours.text },
    ...option,
  };
}

/** The axis shared by all charts. */
export function axis(colours: Palette, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    axisLine: { lineStyle: { color: colours.line } },
    axisLabel: { color: colours.muted },
    nameTextStyle: { color: colours.muted },
    splitLine: { lineStyle: { color: colours.line } },
    ...more,
  };
}

/** An axis of values, as long as `values` need. Shares are in per cent. */
export function vertical(colours: Palette, values: number[], log: boolean, unit = ""): Record<string, unknown> {
  if (log) return { type: "log", splitNumber: 5, axisLabel: { color: colours.muted, formatter: (value: number) => measure(value, unit) } };
  const scale = scaleOf(values);
  const formatter = (value: number) => (unit === "share" ? `${tickText(100 * value, 100 * scale.interval)} %` : tickText(value, scale.interval));
  return { type: "value", ...scale, axisLabel: { color: colours.muted, formatter } };
}

/** An axis of steps or times over `places`, or the part of it that the settings choose. */
export function horizontal(colours: Palette, places: number[], isWhole: boolean): Record<string, unknown> {
  let [low, high] = [Infinity, -Infinity];
  for (const place of places) [low, high] = [Math.min(low, place), Math.max(high, place)];
  const [min, max] = [settings.from ?? low, settings.to ?? high];
  if (min > max) return { type: "value" };
  const customValues = ticksWithin(min, max, isWhole);
  const interval = (customValues[1] ?? 1) - (customValues[0] ?? 0);
  const formatter = (value: number) => tickText(value, Number(interval.toPrecision(12)));
  const ends = { min: settings.from ?? "dataMin", max: settings.to ?? "dataMax" };
  return { type: "value", ...ends, axisTick: { customValues }, axisLabel: { color: colours.muted, hideOverlap: true, customValues, formatter } };
}

/**
 * A curve's own values behind the smoothed one. It is in no legend, no tooltip and no saved file of values.
 */
export function rawBehind(data: [number | string, number | null][], colour: string): Record<string, unknown> {
  return {
    type: "line",
    name: "",
    raw: true,
    data,
    symbol: "none",
    silent: true,
    tooltip: { show: false },
    color: colour,
    lineStyle: { color: colour, width: 1, opacity: 0.25 },
    z: 1,
    emphasis: { disabled: true },
  };
}

/** One line of a tooltip: label and value. */
export interface TipLine {
  colour?: string;
  label: string;
  value: string;
  strong?: boolean;
}

/**
 * A tooltip as an element: the Content-Security-Policy forbids inline styles in generated HTML, and this way model
 * output is always plain text.
 */
export function tip(title: string, lines: TipLine[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "tip";
  const head = document.createElement("b");
  head.textContent = title;
  box.append(head);
  for (const line of lines) {
    const row = document.createElement("div");
    const mark = document.createElement("i");
    mark.style.background = line.colour ?? "transparent";
    const label = document.createElement("span");
    label.textContent = line.label;
    const value = document.createElement("span");
    value.textContent = line.value;
    if (line.strong) row.className = "strong";
    row.append(mark, label, value);
    box.append(row);
  }
  return box;
}

/** Options of a tooltip with content from `tip`. */
export function tooltip(colours: Palette, more: Record<string, unknown>): Record<string, unknown> {
  return {
    confine: true,
    backgroundColor: colours.surface,
    borderColor: colours.line,
    textStyle: { color: colours.text },
    axisPointer: { lineStyle: { color: colours.muted }, label: { show: false } },
    ...more,
  };
}

/** A value under the pointer: as measured, then as smoothed if that is what the curve shows. */
export function measured(own: number | null | undefined, drawn: number | null | undefined, unit: string): string {
  if (own === undefined || own === drawn) return measure(drawn, unit);
  return `${measure(own, unit)}, smoothed ${measure(drawn, unit)}`;
}

async function save(figure: HTMLElement, instance: EChartsType, kind: string): Promise<void> {
  const name = `${figure.dataset.name ?? "chart"}.${kind}`;
  if (kind === "csv") {
    const rows = csv(figure, instance);
    download(name, "text/csv", [rows]);
    return;
  }
  if (kind === "svg") echarts.use((await import("./svg")).SVGRenderer);
  const holder = document.createElement("div");
  const size = { width: instance.getWidth(), height: instance.getHeight() };
  const copy = echarts.init(holder, null, { renderer: kind === "svg" ? "svg" : "canvas", devicePixelRatio: 2, ...size });
  copy.setOption({ ...(instance.getOption() as EChartsCoreOption), animation: false, backgroundColor: palette().surface });
  const address = copy.getDataURL({ type: kind === "svg" ? "svg" : "png", pixelRatio: 2 });
  copy.dispose();
  const comma = address.indexOf(",");
  const body = address.slice(comma + 1);
  const bytes = address.slice(0, comma).includes("base64") ? Uint8Array.from(atob(body), (c) => c.charCodeAt(0)) : decodeURIComponent(body);
  download(name, kind === "svg" ? "image/svg+xml" : "image/png", [bytes]);
}

/** Series of points (x, y) as columns over their common x; `values` replaces drawn values that differ from the data. */
function csv(figure: HTMLElement, instance: EChartsType): string {
  const option = instance.getOption() as { series?: { name?: string; raw?: boolean; data?: unknown[]; values?: unknown[] }[] };
  const series = (option.series ?? []).filter((one) => one.name && !one.raw && Array.isArray(one.data));
  const rows = new Map<string | number, (number | null)[]>();
  series.forEach((one, column) => {
    for (const point of one.values ?? one.data ?? []) {
      if (!Array.isArray(point)) continue;
      const x = point[0] as string | number;
      const row = rows.get(x) ?? new Array(series.length).fill(null);
      row[column] = point[1] as number | null;
      rows.set(x, row);
    }
  });
  const head = csvLine([figure.dataset.x ?? "step", ...series.map((one) => one.name ?? "")]);
  const order = ([one]: [string | number, unknown], [other]: [string | number, unknown]) =>
    typeof one === "number" && typeof other === "number" ? one - other : 0;
  const body = [...rows].sort(order).map(([x, values]) => csvLine([x, ...values]));
  return [head, ...body].join("\n") + "\n";
}
