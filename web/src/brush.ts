// Choosing a range of a chart's x axis by dragging over it.
import type { EChartsType } from "echarts/core";

/** Pixels below which a drag is a click. */
const least = 6;

/** Milliseconds in which a second click makes a double click. */
const second = 300;

/**
 * Calls `chosen` with both ends in x-axis values after a drag, and without arguments after a double click; `picked` with the
 * x-axis value of a single click.
 */
export function brush(canvas: HTMLElement, chart: EChartsType, chosen: (ends?: [number, number]) => void, picked?: (x: number) => void): void {
  let click: ReturnType<typeof setTimeout> | undefined;
  let start: number | undefined;
  const mark = document.createElement("div");
  mark.className = "brush";
  const place = (event: PointerEvent) => event.clientX - canvas.getBoundingClientRect().left;
  const inside = (event: PointerEvent) => {
    const box = canvas.getBoundingClientRect();
    return chart.containPixel({ gridIndex: 0 }, [event.clientX - box.left, event.clientY - box.top]);
  };
  const value = (pixel: number) => chart.convertFromPixel({ xAxisIndex: 0 }, pixel) as unknown as number;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.pointerType === "touch" || !inside(event)) return;
    start = place(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (start === undefined) return;
    const now = place(event);
    mark.style.left = `${Math.min(start, now)}px`;
    mark.style.width = `${Math.abs(now - start)}px`;
    if (Math.abs(now - start) >= least && !mark.isConnected) canvas.append(mark);
  });
  const end = (event: PointerEvent) => {
    mark.remove();
    const from = start;
    start = undefined;
    const to = place(event);
    if (from === undefined || event.type === "pointercancel") return;
    if (Math.abs(to - from) < least) {
      clearTimeout(click);
      click = setTimeout(() => picked?.(value(to)), second);
      return;
    }
    chosen([value(Math.min(from, to)), value(Math.max(from, to))]);
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("dblclick", () => {
    clearTimeout(click);
    chosen();
  });
}
