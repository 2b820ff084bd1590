// Charts: Apache ECharts with what every chart of the lab shares. A module that draws something special registers it:
// `echarts.use([HeatmapChart, VisualMapComponent])`.
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import * as echarts from "echarts/core";
import { LineChart } from "echarts/charts";
import { AriaComponent, DataZoomComponent, GridComponent, TooltipComponent } from "echarts/components";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";
import { type Palette, palette } from "./palette";
import { themeChanged } from "./theme";

echarts.use([LineChart, AriaComponent, DataZoomComponent, GridComponent, TooltipComponent, CanvasRenderer, SVGRenderer]);

export { echarts };

/** A chart on the page. */
export interface Chart {
  readonly instance: EChartsType;
  /** Draws it anew: its data or its settings have changed. */
  redraw(): void;
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Draws a chart into the element `.canvas` of `figure` with the option that `build` gives, and again whenever the theme
 * changes. The canvas keeps the size that the stylesheet gives it, so that nothing on the page moves.
 */
export function draw(figure: HTMLElement, build: (colours: Palette) => EChartsCoreOption): Chart {
  const canvas = figure.querySelector<HTMLElement>(".canvas");
  if (!canvas) throw new Error("a figure without .canvas");
  const instance = echarts.init(canvas, null, { renderer: "canvas" });
  const redraw = () => instance.setOption(framed(build(palette())), { notMerge: true });
  redraw();
  canvas.dataset.drawn = "true";
  new ResizeObserver(() => instance.resize()).observe(canvas);
  addEventListener(themeChanged, redraw);
  figure.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-save]") : null;
    if (button) save(figure, instance, button.dataset.save ?? "png");
  });
  return { instance, redraw };
}

/** Calls `first` when the figure comes near to what is seen: charts far down the page cost nothing until then. */
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
    animation: !still.matches && option.animation !== false,
    animationDuration: 150,
    textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colours.text },
    ...option,
  };
}

/** An axis as all charts have it. */
export function axis(colours: Palette, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    axisLine: { lineStyle: { color: colours.line } },
    axisLabel: { color: colours.muted },
    nameTextStyle: { color: colours.muted },
    splitLine: { lineStyle: { color: colours.line } },
    ...more,
  };
}

/** One line of a tooltip: what it is about, and its value. */
export interface TipLine {
  colour?: string;
  label: string;
  value: string;
  strong?: boolean;
}

/**
 * A tooltip as an element: the page's policy lets no text that a chart makes have styles in it, and what models wrote
 * can be nothing but text this way.
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

/** Settings of a tooltip that `tip` fills. */
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

/** A number as people read it. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** Offers `parts` as a file. */
export function download(name: string, type: string, parts: BlobPart[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function save(figure: HTMLElement, instance: EChartsType, kind: string): void {
  const name = `${figure.dataset.name ?? "chart"}.${kind}`;
  if (kind === "csv") {
    const rows = csv(figure, instance);
    download(name, "text/csv", [rows]);
    return;
  }
  const { width, height } = { width: instance.getWidth(), height: instance.getHeight() };
  const holder = document.createElement("div");
  const copy = echarts.init(holder, null, { renderer: kind === "svg" ? "svg" : "canvas", width, height, devicePixelRatio: 2 });
  const option = instance.getOption() as EChartsCoreOption;
  copy.setOption({ ...option, animation: false, backgroundColor: palette().surface });
  const address = copy.getDataURL({ type: kind === "svg" ? "svg" : "png", pixelRatio: 2 });
  const comma = address.indexOf(",");
  const head = address.slice(0, comma);
  const body = address.slice(comma + 1);
  const bytes = head.includes("base64") ? Uint8Array.from(atob(body), (c) => c.charCodeAt(0)) : decodeURIComponent(body);
  download(name, kind === "svg" ? "image/svg+xml" : "image/png", [bytes]);
  copy.dispose();
}

/** Series of points (x, y) as columns beside their common x. */
function csv(figure: HTMLElement, instance: EChartsType): string {
  const option = instance.getOption() as { series?: { name?: string; data?: unknown[] }[] };
  const series = (option.series ?? []).filter((one) => one.name && Array.isArray(one.data));
  const rows = new Map<number, (number | null)[]>();
  series.forEach((one, column) => {
    for (const point of one.data ?? []) {
      if (!Array.isArray(point)) continue;
      const x = Number(point[0]);
      const row = rows.get(x) ?? new Array(series.length).fill(null);
      row[column] = point[1] as number | null;
      rows.set(x, row);
    }
  });
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const head = [figure.dataset.x ?? "step", ...series.map((one) => one.name ?? "")].map(cell).join(",");
  const body = [...rows].sort(([one], [other]) => one - other).map(([x, values]) => [x, ...values.map((v) => v ?? "")].join(","));
  return [head, ...body].join("\n") + "\n";
}
