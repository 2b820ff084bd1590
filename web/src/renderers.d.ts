// ECharts' renderers as separate modules: importing `echarts/renderers` would bundle both wherever one is needed.
declare module "echarts/lib/renderer/installCanvasRenderer.js" {
  import type { CanvasRenderer } from "echarts/renderers";
  export const install: typeof CanvasRenderer;
}

declare module "echarts/lib/renderer/installSVGRenderer.js" {
  import type { SVGRenderer } from "echarts/renderers";
  export const install: typeof SVGRenderer;
}
