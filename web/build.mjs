// Bundles src/ and styles/ into the folder named on the command line: files with a hash of their content in the name,
// each also compressed, and `assets.rs`, the table through which the server embeds them.
//
//     node build.mjs FOLDER
import { build } from "esbuild";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const web = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const out = resolve(process.argv[2] ?? "dist");
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const filesOf = (folder, kind) => {
  const names = existsSync(join(web, folder)) ? readdirSync(join(web, folder)) : [];
  return names.filter((name) => name.endsWith(kind)).sort().map((name) => `${folder}/${name}`);
};
const entries = ["src/app.ts", "src/login.ts", ...filesOf("src/pages", ".ts"), "styles/main.css", "styles/noscript.css"];
const result = await build({
  absWorkingDir: web,
  entryPoints: entries,
  outdir: out,
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  target: ["chrome123", "firefox121", "safari17.5"],
  entryNames: "[name]-[hash]",
  chunkNames: "chunk-[hash]",
  legalComments: "linked",
  metafile: true,
  logLevel: "warning",
});

/** All files that the script at `path` imports: pages preload them, so a browser fetches them in parallel. */
const needs = (path, seen = new Set()) => {
  for (const { path: needed, kind } of result.metafile.outputs[path].imports) {
    if (kind !== "import-statement" || seen.has(needed)) continue;
    seen.add(needed);
    needs(needed, seen);
  }
  return [...seen];
};

const types = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", txt: "text/plain; charset=utf-8" };
const files = Object.entries(result.metafile.outputs).map(([path, output]) => {
  const name = basename(path);
  const kind = name.slice(name.lastIndexOf(".") + 1);
  const bytes = readFileSync(join(out, name));
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
  writeFileSync(join(out, `${name}.br`), brotli);
  writeFileSync(join(out, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  // The name used in templates: the file name of a page's script or style. Shared chunks have none.
  const entry = output.entryPoint && basename(output.entryPoint).replace(/\.ts$/, ".js");
  return { name, entry: entry ?? "", needs: needs(path).map((one) => basename(one)), type: types[kind] ?? "application/octet-stream" };
});

const quoted = (text) => JSON.stringify(text);
const included = (name) => `include_bytes!(concat!(env!("OUT_DIR"), "/web/", ${quoted(name)}))`;
const rows = files.map(
  ({ name, entry, needs, type }) =>
    `    Asset { name: ${quoted(name)}, entry: ${quoted(entry)}, needs: &[${needs.map(quoted)}], content_type: ${quoted(type)}, ` +
    `plain: ${included(name)}, brotli: ${included(`${name}.br`)}, gzip: ${included(`${name}.gz`)} },\n`,
);
writeFileSync(join(out, "assets.rs"), `&[\n${rows.join("")}]\n`);
