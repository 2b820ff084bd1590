// Draws runs as lines across axes (parallel coordinates). The data is defined in `server/src/subjects/lab/parallel.rs`.
import { ParallelChart } from "echarts/charts";
import { ParallelComponent } from "echarts/components";
import { type Chart, draw, echarts, tip, tooltip, whenNear } from "../chart";
import { measure } from "../format";
import { island } from "../island";
import { onNews } from "../news";
import { type Palette, faint } from "../palette";

echarts.use([ParallelChart, ParallelComponent]);

interface Axis {
  name: string;
  /** The places of an axis of texts; empty for numbers. */
  labels: string[];
}

interface Line {
  name: string;
  address: string;
  values: (number | null)[];
}

interface Parallel {
  id: string;
  axes: Axis[];
  lines: Line[];
}

/** Pixels that an axis needs beside the next. */
const room = 96;

/** How strong the colour of each line is: by its rank on the last axis that it has a value on. */
function strengths({ lines }: Parallel): number[] {
  const outcomes = lines.map(({ values }) => values.at(-1) ?? null);
  const ranked = [...new Set(outcomes.filter((value) => value !== null))].sort((one, other) => one - other);
  return outcomes.map((value) => (value === null ? 0.2 : 0.3 + (0.7 * (ranked.indexOf(value) + 1)) / ranked.length));
}

const shown = (axis: Axis | undefined, value: number | null): string => (value === null ? "–" : (axis?.labels[value] ?? measure(value)));

function option(parallel: Parallel, colours: Palette, width: number) {
  const strong = strengths(parallel);
  const isNarrow = width < room * parallel.axes.length;
  return {
    parallel: {
      layout: isNarrow ? "vertical" : "horizontal",
      ...(isNarrow ? { left: 16, right: 56, top: 28, bottom: 16 } : { left: 40, right: 72, top: 36, bottom: 20 }),
      parallelAxisDefault: {
        nameLocation: "end",
        nameGap: 12,
        nameTextStyle: { color: colours.text, ...(isNarrow && { align: "right" }) },
        nameTruncate: { maxWidth: room, ellipsis: "…" },
        axisLine: { lineStyle: { color: colours.muted } },
        axisTick: { lineStyle: { color: colours.muted } },
        axisLabel: { color: colours.muted, hideOverlap: true },
        areaSelectStyle: { width: 16, borderWidth: 1, borderColor: colours.accent, color: faint(colours.accent, 0.25), opacity: 1 },
      },
    },
    parallelAxis: parallel.axes.map(({ name, labels }, dim) => ({
      dim,
      name,
      ...(labels.length > 0 ? { type: "category", data: labels } : { type: "value", scale: true, axisLabel: { color: colours.muted, formatter: (value: number) => measure(value), hideOverlap: true } }),
    })),
    tooltip: tooltip(colours, {
      trigger: "item",
      formatter: ({ dataIndex }: { dataIndex: number }) => {
        const line = parallel.lines[dataIndex];
        const rows = parallel.axes.map((axis, place) => ({ label: axis.name, value: shown(axis, line?.values[place] ?? null) }));
        return tip(line?.name ?? "", rows);
      },
    }),
    series: [
      {
        type: "parallel",
        inactiveOpacity: 0.06,
        activeOpacity: 1,
        data: parallel.lines.map(({ name, values }, place) => ({
          name,
          value: values,
          lineStyle: { color: faint(colours.accent, strong[place] ?? 1), width: 1.5 },
        })),
        emphasis: { lineStyle: { width: 3 } },
      },
    ],
  };
}

const read = (page: Document = document) => new Map(island<Parallel[]>("parallels", page).map((one) => [one.id, one]));
let all = read();
const drawn = new Map<string, Chart>();
const waiting = new WeakSet<Element>();

function begin(figure: HTMLElement, id: string): void {
  const known = () => all.get(id) ?? { id, axes: [], lines: [] };
  const chart = draw(figure, (colours, width) => option(known(), colours, width));
  chart.instance.on("click", ({ dataIndex }: { dataIndex?: number }) => {
    const line = known().lines[dataIndex ?? -1];
    if (line) location.assign(line.address);
  });
  drawn.set(id, chart);
}

function beginAll(): void {
  for (const id of all.keys()) {
    const figure = document.getElementById(id);
    if (!figure || waiting.has(figure)) continue;
    waiting.add(figure);
    whenNear(figure, () => begin(figure, id));
  }
}

beginAll();
onNews((page) => {
  if (!page.getElementById("parallels")) return;
  const before = all;
  all = read(page);
  // A redraw loses what was picked out.
  for (const [id, chart] of drawn) {
    if (JSON.stringify(before.get(id)) !== JSON.stringify(all.get(id))) chart.redraw();
  }
  queueMicrotask(beginAll);
});
