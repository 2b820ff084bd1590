// A module of the pages' scripts, for tests without a browser.
import { buildSync } from "esbuild";

/** What `src/NAME` exports. */
export async function module(name) {
  const built = buildSync({ entryPoints: [new URL(`../src/${name}`, import.meta.url).pathname], bundle: true, format: "esm", write: false });
  return import(`data:text/javascript,${encodeURIComponent(built.outputFiles[0].text)}`);
}
