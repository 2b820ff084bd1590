// The SVG renderer, needed only for saving.
export { install as SVGRenderer } from "echarts/lib/renderer/installSVGRenderer.js";
