// Drawing as SVG, which only saving needs.
export { install as SVGRenderer } from "echarts/lib/renderer/installSVGRenderer.js";
