// ECharts' renderers one by one: by `echarts/renderers` a bundler takes both wherever one is needed.
declare module "echarts/lib/renderer/installCanvasRenderer.js" {
  import type { CanvasRenderer } from "echarts/renderers";
  export const install: typeof CanvasRenderer;
}

declare module "echarts/lib/renderer/installSVGRenderer.js" {
  import type { SVGRenderer } from "echarts/renderers";
  export const install: typeof SVGRenderer;
}
