// Takes screenshots of every page, wide, narrow and dark, of the widest ones also at 1280 and 3840 pixels, and of the
// parts shown in the README (`FOLDER/tour`):
//
//     node tests/screens.mjs FOLDER [PAGE…]
//
// from a private server with a 48-step run and a second seed of it, both measured on a benchmark, or from the server at
// $LYCEUM_URL with the token in $LYCEUM_TOKEN.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { addresses } from "./addresses.mjs";
import { apiOf, logIn, missing, startBrowser, startLab } from "./lab.mjs";

const [folder, ...only] = process.argv.slice(2);
const { LYCEUM_URL: base, LYCEUM_TOKEN: token } = process.env;
const lack = missing({ programs: !base });
if (!folder || lack) {
  console.error(lack ?? "usage: node tests/screens.mjs FOLDER [PAGE…]");
  process.exit(2);
}

/** Viewports and themes; all pages, or only those with wide charts and matrices. */
const looks = [
  { name: "wide", width: 1440, theme: "light" },
  { name: "dark", width: 1440, theme: "dark" },
  { name: "narrow", width: 360, theme: "light" },
  { name: "laptop", width: 1280, theme: "light", pages: ["lab", "overview", "metrics", "samples", "arms-race", "cross-play", "archive", "lineage"] },
  { name: "4k", width: 3840, theme: "light", pages: ["lab", "overview", "metrics", "samples", "arms-race", "cross-play", "archive", "lineage"] },
];
/** Pages captured while a run is in progress. */
const running = ["lab", "overview", "work"];

/** Parts of pages for the README, in docs/images. */
const tour = {
  lab: { page: "lab-overlay", part: "main", height: 880 },
  samples: { page: "samples-of-suite", part: "main", height: 960 },
  "held-out": { page: "overview", part: "#held-out section" },
  curves: { page: "metrics", part: "section[aria-labelledby=group-1] .grid" },
  lineage: { page: "lineage", part: "#tree", theme: "dark" },
  "arms-race": { page: "arms-race", part: "#view .grid" },
  "cross-play": { page: "cross-play", part: "section[aria-labelledby=matrix]" },
  archive: { page: "archive-beside", part: ".grid.maps" },
  problem: { page: "problem", part: ".beside" },
  benchmarks: { page: "benchmarks", part: "section[aria-labelledby=table]" },
};

/** Creates two runs of the demo preset with benchmarks, and calls `running` with them once they are in progress. */
async function makeRuns(lab, running) {
  await lab.api("POST", "/experiments", { name: "two seeds", description: "Does a population of four learn the same from another seed?" });
  const runs = [];
  for (const seed of [0, 1]) {
    const made = { preset: "demo", name: `demo, seed ${seed}`, tags: ["demo"], note: "Forty-eight steps on two CPU cores.", experiment: "two seeds" };
    const overrides = { seed, steps: 48, "benchmarks.every": 12 };
    runs.push((await lab.api("POST", "/runs", { ...made, overrides })).id);
  }
  let isUnderWay = false;
  for (;;) {
    const states = await Promise.all(runs.map(async (id) => lab.api("GET", `/runs/${id}`)));
    process.stderr.write(`\rsteps ${states.map((run) => `${run.step} of ${run.steps}`).join(", ")}   `);
    const failed = states.find((run) => ["failed", "cancelled"].includes(run.state));
    if (failed) throw new Error(`run ${failed.id} is ${failed.state}: ${failed.error}`);
    if (!isUnderWay && states.every((run) => run.step > 2)) {
      isUnderWay = true;
      await running(runs);
    }
    if (states.every((run) => run.state === "completed")) break;
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
  // Wait for the measurements at their end.
  while ((await lab.api("GET", "/evaluations?state=running&limit=1")).items.length > 0) await new Promise((resolve) => setTimeout(resolve, 500));
  return runs;
}

/** The two most advanced runs of an existing server. */
async function findRuns(lab) {
  const { items } = await lab.api("GET", "/runs?limit=100");
  const longest = items.sort((one, other) => other.step - one.step).map((run) => run.id);
  if (longest.length === 0) throw new Error("the lab has no runs");
  return [longest[0], longest[1] ?? longest[0]];
}

const lab = base ? { base, token, api: apiOf(base, token), stop: async () => undefined } : await startLab();
const browser = await startBrowser();
const page = await browser.open();

/** Takes screenshots of `pages`, each as tall as the page, so that lazily drawn charts are drawn. */
async function take({ name: look, width, theme, pages: these }, pages) {
  mkdirSync(join(folder, look), { recursive: true });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  for (const [name, path] of pages.filter(([name]) => these?.includes(name) ?? true)) {
    await page.setViewport({ width, height: 900 });
    await page.goto(lab.base + path, { waitUntil: "load" });
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewport({ width, height: Math.min(Math.max(height, 900), 12_000) });
    await page.waitForNetworkIdle({ idleTime: 250, timeout: 3000 }).catch(() => undefined);
    await page.screenshot({ path: join(folder, look, `${name}.png`) });
    process.stderr.write(`\r${look} ${name}                    `);
  }
}

try {
  await logIn(page, lab);
  const wanted = ([name]) => only.length === 0 || only.includes(name);
  const pagesOf = async ([run, second]) => (await addresses(lab, run, second)).filter(wanted);
  const underWay = async (runs) => take({ name: "running", width: 1280, theme: "light", pages: running }, await pagesOf(runs));
  const pages = await pagesOf(base ? await findRuns(lab) : await makeRuns(lab, underWay));
  for (const look of looks) await take(look, pages);
  mkdirSync(join(folder, "tour"), { recursive: true });
  for (const [name, { page: of, part, theme = "light", height = 2400 }] of Object.entries(tour)) {
    const path = pages.find(([one]) => one === of)?.[1];
    if (!path) continue;
    // Pages that are as high as the window are shown in one that they fill.
    await page.setViewport({ width: 1440, height, deviceScaleFactor: 1.25 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    await page.goto(lab.base + path, { waitUntil: "load" });
    await page.waitForNetworkIdle({ idleTime: 250, timeout: 3000 }).catch(() => undefined);
    const shown = await page.$(part);
    if (shown) await shown.screenshot({ path: join(folder, "tour", `${name}.webp`), type: "webp", quality: 80 });
    else console.error(`${path} has no ${part}`);
  }
  process.stderr.write(`\rThe screenshots are in ${folder}                    \n`);
  for (const fault of new Set(page.faults)) console.error(fault);
} finally {
  await browser.stop();
  await lab.stop();
}
