// Draws the charts of a page from the data that it came with: `server/src/pages/figure.rs` says what stands in it.
import { CustomChart } from "echarts/charts";
import { LegendComponent, MarkLineComponent } from "echarts/components";
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts/types/dist/shared";
import { type TipLine, axis, draw, echarts, short, tip, tooltip, whenNear } from "../chart";
import { island } from "../island";
import { type Palette, faint } from "../palette";

echarts.use([CustomChart, LegendComponent, MarkLineComponent]);

type Style = "line" | "faint" | "bold" | "dashed" | "stacked";
type Colour = "next" | "teacher" | "student" | "muted" | "good";

interface Series {
  name: string;
  style: Style;
  colour: Colour;
  strength?: number;
  points: [number, number | null][];
  band?: [number, number, number][];
}

interface Figure {
  id: string;
  x: string;
  labels?: string[];
  y: string;
  range: [number, number] | null;
  level: number | null;
  series: Series[];
}

const widths: Record<Style, number> = { line: 1.5, faint: 1, bold: 3, dashed: 1.5, stacked: 0 };
// More names than this make a legend that hides the chart; the tooltip and the table name all.
const namesInLegend = 10;

/** The colour of each curve; `next` takes the palette's in turn. */
function coloured(figure: Figure, colours: Palette): string[] {
  let next = 0;
  return figure.series.map(({ colour }) =>
    colour === "next" ? (colours.series[next++ % colours.series.length] ?? colours.accent) : colours[colour],
  );
}

/** The area between two curves. ECharts has no such series; one item of a custom series draws it whole. */
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

function line(figure: Figure, series: Series, colour: string): Record<string, unknown> {
  const stacked = series.style === "stacked";
  return {
    type: "line",
    name: series.name,
    data: figure.labels ? series.points.map(([, y]) => y) : series.points,
    showSymbol: series.points.length < 3 || figure.labels !== undefined,
    symbolSize: 5,
    connectNulls: false,
    color: colour,
    z: series.style === "bold" ? 4 : 3,
    lineStyle: {
      width: widths[series.style],
      type: series.style === "dashed" ? "dashed" : "solid",
      opacity: series.style === "faint" ? 0.55 : 1,
    },
    ...(stacked && { stack: "whole", areaStyle: { color: faint(colour, series.strength ?? 1) }, symbol: "none", step: "end" }),
    emphasis: { focus: stacked ? "none" : "series" },
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
  const lines = all
    .filter((one) => one.seriesName && typeof value(one) === "number")
    .map((one): TipLine & { size: number } => ({
      colour: one.color,
      label: one.seriesName,
      value: short(value(one)),
      size: value(one) ?? 0,
      strong: figure.series.some((series) => series.name === one.seriesName && series.style === "bold"),
    }));
  if (figure.series[0]?.style !== "stacked") lines.sort((one, other) => other.size - one.size);
  return tip(`${figure.x} ${all[0]?.axisValue ?? ""}`.trim(), lines);
}

function option(figure: Figure, colours: Palette): Record<string, unknown> {
  const chosen = coloured(figure, colours);
  const stacked = figure.series[0]?.style === "stacked";
  const named = figure.series.filter((series) => series.style !== "faint").map((series) => series.name);
  const legend = named.length > 1 && named.length <= namesInLegend;
  // Stacking goes by place, so its x is a list of names; elsewhere steps keep their distances.
  const names = figure.labels ?? (stacked ? (figure.series[0]?.points ?? []).map(([x]) => String(x)) : undefined);
  const drawn = stacked ? { ...figure, labels: names ?? [] } : figure;
  const curves = figure.series.map((series, index) => line(drawn, series, chosen[index] ?? colours.accent));
  const level = {
    silent: true,
    symbol: "none",
    label: { show: false },
    lineStyle: { color: colours.muted, type: "dotted" },
    data: [{ yAxis: figure.level }],
  };
  return {
    aria: { enabled: true },
    grid: { left: 8, right: 16, top: legend ? 44 : 26, bottom: 8, containLabel: true },
    legend: { show: legend, data: named, top: 0, type: "scroll", textStyle: { color: colours.text } },
    xAxis: axis(colours, {
      type: names ? "category" : "value",
      ...(names ? { data: names, boundaryGap: false } : { min: "dataMin", max: "dataMax" }),
      minInterval: 1,
      splitLine: { show: false },
      axisPointer: { show: true },
    }),
    yAxis: axis(colours, {
      type: "value",
      name: figure.y,
      nameTextStyle: { color: colours.muted, align: "left" },
      scale: figure.range === null,
      ...(figure.range && { min: figure.range[0], max: figure.range[1] }),
    }),
    dataZoom: [{ type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: false, disabled: !!figure.labels }],
    tooltip: tooltip(colours, { trigger: "axis", formatter: (all: Hovered[]) => hovered(figure, all) }),
    series: [
      ...figure.series.flatMap((series, index) => (series.band?.length ? [band(series, chosen[index] ?? colours.accent)] : [])),
      ...curves.map((curve, index) => (index === 0 && figure.level !== null ? { ...curve, markLine: level } : curve)),
    ],
  };
}

for (const figure of island<Figure[]>("figures")) {
  const element = document.getElementById(figure.id);
  if (element) whenNear(element, () => void draw(element, (colours) => option(figure, colours)));
}
