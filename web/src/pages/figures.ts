// Draws a page's charts from its embedded data, which is defined in `server/src/frame/figure.rs`.
import { BarChart, CustomChart } from "echarts/charts";
import { MarkLineComponent } from "echarts/components";
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts/types/dist/shared";
import { type Chart, type TipLine, axis, draw, echarts, horizontal, legendOf, measured, rawBehind, tip, tooltip, vertical, whenNear } from "../chart";
import { isCount, smooth } from "../curve";
import { island } from "../island";
import { onNews } from "../news";
import { pageAt } from "../page";
import { type Palette, faint } from "../palette";
import { say } from "../say";
import { settings, showRange, startSettings } from "../settings";

echarts.use([BarChart, CustomChart, MarkLineComponent]);

type Style = "line" | "faint" | "bold" | "dashed" | "stacked" | "bars";
type Colour = "next" | "proposing" | "solving" | "planning" | "judging" | "muted" | "good";

interface Series {
  name: string;
  style: Style;
  colour: Colour;
  /** Index into the palette for `next`; the next free colour if omitted. */
  place?: number;
  strength?: number;
  points: [number, number | null][];
  band?: [number, number, number][];
}

interface Figure {
  id: string;
  x: string;
  labels?: string[];
  y: string;
  /** Shares are shown in per cent. */
  unit?: string;
  /** The label of the axis on the right, which bars are measured by. */
  right?: string;
  range: [number, number] | null;
  level: number | null;
  /** Whether x has fractions. */
  continuous?: boolean;
  /** Whether its points are measurements, which are never smoothed. */
  exact?: boolean;
  series: Series[];
  /** The x of the first point included here; without it all points are. */
  from: number | null;
  /** Steps per point. */
  width: number;
}

const widths: Record<Style, number> = { line: 1.5, faint: 1, bold: 3, dashed: 1.5, stacked: 0, bars: 0 };
// With more names than this the legend would cover the chart; tooltip and table list all names.
const namesInLegend = 10;

/** The colour of each curve; `next` cycles through the palette. */
function coloured(figure: Figure, colours: Palette): string[] {
  let next = 0;
  return figure.series.map(({ colour, place }) =>
    colour === "next" ? (colours.series[(place ?? next++) % colours.series.length] ?? colours.accent) : colours[colour],
  );
}

/** The area between two curves. ECharts has no such series, so one item of a custom series draws all of it. */
function band(series: Series, colour: string): Record<string, unknown> {
  const data = series.band ?? [];
  return {
    type: "custom",
    silent: true,
    clip: true,
    z: 1,
    data,
    encode: { x: 0, y: [1, 2] },
    tooltip: { show: false },
    renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
      if (params.dataIndex !== 0) return undefined;
      const lower = data.map(([x, low]) => api.coord([x, low]));
      const upper = data.map(([x, , high]) => api.coord([x, high])).reverse();
      return {
        type: "polygon",
        shape: { points: [...lower, ...upper] },
        style: { fill: faint(colour, series.style === "faint" ? 0.08 : 0.18) },
      };
    },
  };
}

const isStacked = (figure: Figure): boolean => figure.series[0]?.style === "stacked";
/** Whether the x axis is steps, so smoothing and a log scale apply. */
const isOverSteps = (figure: Figure): boolean => !figure.labels && !isStacked(figure);
const isSmoothed = (figure: Figure): boolean => isOverSteps(figure) && !figure.exact && settings.smoothing > 0;
const smoothed = (figure: Figure, series: Series): [number, number | null][] =>
  isSmoothed(figure) && !isCount(series.points, figure.width) ? smooth(series.points, settings.smoothing) : series.points;
const isShown = (x: number): boolean => x >= (settings.from ?? x) && x <= (settings.to ?? x);

/** A part of a whole: touching bars, one per step or label shown. */
function part(figure: Figure, series: Series, colour: string): Record<string, unknown> {
  const { labels } = figure;
  const named: [string | number, number | null][] = series.points.map(([x, y]) => [labels?.[x] ?? x, y]);
  return {
    type: "bar",
    name: series.name,
    data: labels ? named : series.points.filter(([x]) => isShown(x)).map(([x, y]) => [String(x), y]),
    values: named,
    stack: "whole",
    barCategoryGap: 0,
    color: faint(colour, series.strength ?? 1),
  };
}

/** Bars behind the curves, measured by the axis on the right. */
function bars(series: Series, colour: string): Record<string, unknown> {
  return {
    type: "bar",
    name: series.name,
    data: series.points,
    yAxisIndex: 1,
    barCategoryGap: "20%",
    color: faint(colour, 0.4),
    z: 1,
  };
}

function line(figure: Figure, series: Series, colour: string): Record<string, unknown> {
  const curve = smoothed(figure, series);
  const positive = (y: number | null) => (isOverSteps(figure) && settings.log && y !== null && y <= 0 ? null : y);
  const at = (x: number): string | number => figure.labels?.[x] ?? x;
  return {
    type: "line",
    name: series.name,
    data: curve.map(([x, y]) => [at(x), positive(y)]),
    values: series.points.map(([x, y]) => [at(x), y]),
    symbol: series.points.length < 3 || figure.labels !== undefined ? "circle" : "none",
    symbolSize: 5,
    connectNulls: false,
    color: colour,
    z: series.style === "bold" ? 4 : 3,
    lineStyle: {
      width: widths[series.style],
      type: series.style === "dashed" ? "dashed" : "solid",
      opacity: series.style === "faint" ? 0.55 : 1,
    },
    emphasis: { focus: "series" },
  };
}

interface Hovered {
  seriesName: string;
  color: string;
  axisValue: string | number;
  value: unknown;
}

function hovered(figure: Figure, all: Hovered[]): HTMLElement {
  const value = (one: Hovered) => (Array.isArray(one.value) ? one.value[1] : one.value) as number | null;
  const own = (one: Hovered) => {
    const series = figure.series.find((series) => series.name === one.seriesName);
    return series && !figure.labels && !isStacked(figure) ? series.points.find(([x]) => x === Number(one.axisValue))?.[1] : value(one);
  };
  const lines = all
    .filter((one) => one.seriesName && typeof value(one) === "number")
    .map((one): TipLine & { size: number } => ({
      colour: one.color,
      label: one.seriesName,
      value: measured(own(one), value(one), figure.unit ?? ""),
      size: value(one) ?? 0,
      strong: figure.series.some((series) => series.name === one.seriesName && series.style === "bold"),
    }));
  if (figure.series[0]?.style !== "stacked") lines.sort((one, other) => other.size - one.size);
  return tip(`${figure.x} ${all[0]?.axisValue ?? ""}`.trim(), lines);
}

/** What the axis on the left shows: the curves where they are drawn, their bands, and the level; or the parts together. */
function heights(figure: Figure): number[] {
  if (isStacked(figure)) {
    const parts = figure.series.filter(({ style }) => style === "stacked").map(({ points }) => points);
    return [0, ...(parts[0] ?? []).map((_, at) => parts.reduce((sum, points) => sum + (points[at]?.[1] ?? 0), 0))];
  }
  const level = figure.level === null ? [] : [figure.level];
  const isInView = ([x]: [number, ...unknown[]]) => figure.labels !== undefined || isShown(x);
  const ofCurves = figure.series.filter(({ style }) => style !== "bars").flatMap(({ points, band }) => [
    ...points.filter(isInView).flatMap(([, y]) => (y === null ? [] : [y])),
    ...(band ?? []).filter(isInView).flatMap(([, low, high]) => [low, high]),
  ]);
  return [...level, ...ofCurves];
}

/** The steps, or whatever else has a distance, of all points. */
const places = (figure: Figure): number[] => figure.series.flatMap(({ points }) => points.map(([x]) => x));

/** The axis on the right, by which bars are measured. */
function right(figure: Figure, colours: Palette): Record<string, unknown> {
  const heights = figure.series.filter(({ style }) => style === "bars").flatMap(({ points }) => points.flatMap(([, y]) => (y === null ? [] : [y])));
  return axis(colours, {
    ...vertical(colours, [0, ...heights], false),
    name: figure.right,
    nameTextStyle: { color: colours.muted, align: "right" },
    splitLine: { show: false },
  });
}

/** The values behind the smoothed curves, of all but those that are one of many. */
function rawCurves(figure: Figure, chosen: string[]): Record<string, unknown>[] {
  return figure.series.flatMap((series, index) => {
    const isMain = series.style === "line" || series.style === "bold";
    return isMain && smoothed(figure, series) !== series.points ? [rawBehind(series.points, chosen[index] ?? "")] : [];
  });
}

function option(figure: Figure, colours: Palette, width: number): Record<string, unknown> {
  const chosen = coloured(figure, colours);
  const named = figure.series.filter((series) => series.style !== "faint").map((series) => series.name);
  const hasLegend = named.length > 1 && named.length <= namesInLegend;
  const { legend, top } = legendOf(colours, named, width);
  // Stacking is by index, so its x axis is categorical; otherwise steps keep their distances.
  const names = figure.labels ?? (isStacked(figure) ? stackedPlaces(figure) : undefined);
  const log = settings.log && isOverSteps(figure);
  const curves = figure.series.map((series, index) => {
    const colour = chosen[index] ?? colours.accent;
    if (series.style === "bars") return bars(series, colour);
    return series.style === "stacked" ? part(figure, series, colour) : line(figure, series, colour);
  });
  const level = {
    silent: true,
    symbol: "none",
    label: { show: false },
    lineStyle: { color: colours.muted, type: "dotted" },
    data: [{ yAxis: figure.level }],
  };
  return {
    grid: { left: 8, right: 16, top: hasLegend ? top + 26 : 26, bottom: 8, containLabel: true },
    legend: { ...legend, show: hasLegend },
    xAxis: axis(colours, {
      splitLine: { show: false },
      ...(names
        ? { type: "category", data: names, boundaryGap: isStacked(figure), axisLabel: { color: colours.muted, hideOverlap: true } }
        : horizontal(colours, places(figure), !figure.continuous)),
      axisPointer: { show: true },
    }),
    yAxis: [
      axis(colours, {
        ...vertical(colours, figure.range ?? heights(figure), log, figure.unit),
        name: figure.y,
        nameTextStyle: { color: colours.muted, align: "left" },
      }),
      ...(figure.right === undefined ? [] : [right(figure, colours)]),
    ],
    tooltip: tooltip(colours, { trigger: "axis", formatter: (all: Hovered[]) => hovered(figure, all) }),
    series: [
      ...figure.series.flatMap((series, index) => (series.band?.length ? [band(series, chosen[index] ?? colours.accent)] : [])),
      ...curves.map((curve, index) => (index === 0 && figure.level !== null ? { ...curve, markLine: level } : curve)),
      ...(isSmoothed(figure) ? rawCurves(figure, chosen) : []),
    ],
  };
}

const stackedPlaces = (figure: Figure): string[] =>
  (figure.series[0]?.points ?? []).filter(([x]) => isShown(x)).map(([x]) => String(x));

const figures = new Map(island<Figure[]>("figures").map((figure) => [figure.id, figure]));
/** Figures for the zoomed range, if finer than the page's own. */
let fine = new Map<string, Figure>();
const drawn = new Map<string, Chart>();
const known = (id: string): Figure => fine.get(id) ?? figures.get(id)!;

/** Whether the page was rendered with a part of the steps alone. */
const isPart = /[?&](from|to)=\d/.test(location.search);

/** Loads the zoomed steps if the page's points are means over several. */
async function refine(): Promise<void> {
  const isWhole = settings.from === undefined && settings.to === undefined;
  const isCoarse = [...figures.values()].some((figure) => figure.width > 1);
  if (((isWhole || !isCoarse) && !isPart) || !document.querySelector("#curves")) {
    fine = new Map();
    return;
  }
  const range = new URLSearchParams(location.search);
  for (const name of ["from", "to"] as const) {
    range.delete(name);
    if (settings[name] !== undefined) range.set(name, String(settings[name]));
  }
  const { from, to } = settings;
  const page = await pageAt(`${location.pathname}?${range}`);
  if (!page || from !== settings.from || to !== settings.to) return;
  fine = new Map(island<Figure[]>("figures", page).map((figure) => [figure.id, figure]));
}

/** `old` with its points replaced by those of `news` from the first of these on. */
function joined(old: Figure | undefined, news: Figure): Figure {
  const { from } = news;
  if (!old || from === null) return news;
  const before = <T extends [number, ...unknown[]]>(points: T[] = []): T[] => points.filter(([x]) => x < from);
  const series = news.series.map((one, index) => {
    const earlier = old.series[index];
    return { ...one, points: [...before(earlier?.points), ...one.points], band: [...before(earlier?.band), ...(one.band ?? [])] };
  });
  return { ...news, series };
}

/** The range selected by dragging, as steps. */
function zoomed(id: string, ends?: [number, number]): void {
  const figure = figures.has(id) ? known(id) : undefined;
  if (!ends || !figure) return showRange(undefined, undefined);
  const places = isStacked(figure) ? stackedPlaces(figure) : undefined;
  const [first, last] = ends.map((end) => (places ? Number(places[Math.round(end)]) : end)) as [number, number];
  showRange(Math.floor(first), Math.ceil(last));
}

function begin(element: HTMLElement, id: string): void {
  const isOfSteps = !figures.get(id)?.labels && !figures.get(id)?.continuous;
  const build = (colours: Palette, width: number) => option(known(id), colours, width);
  drawn.set(id, draw(element, build, isOfSteps ? (ends) => zoomed(id, ends) : undefined));
}

const waiting = new WeakSet<Element>();

/** Draws new charts when they are about to scroll into view. */
function beginAll(): void {
  for (const id of figures.keys()) {
    const element = document.getElementById(id);
    if (!element || waiting.has(element)) continue;
    waiting.add(element);
    whenNear(element, () => begin(element, id));
  }
}

beginAll();
const redraw = () => drawn.forEach((chart) => chart.redraw());
let timer: ReturnType<typeof setTimeout> | undefined;

/** Redraws immediately, and again when finer data has been loaded. */
function changed(): void {
  redraw();
  clearTimeout(timer);
  timer = setTimeout(() => refine().then(redraw, () => say("These steps could not be loaded.", true)), 150);
}

startSettings(changed);
onNews((page) => {
  for (const news of island<Figure[]>("figures", page)) {
    figures.set(news.id, joined(figures.get(news.id), news));
  }
  if (fine.size > 0) changed();
  else redraw();
  // New charts are in the document only after all listeners have run.
  queueMicrotask(beginAll);
});
