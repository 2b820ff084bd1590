// Pictures of every page, wide, narrow and dark, and the parts of them that the README shows (`FOLDER/tour`):
//
//     node tests/screens.mjs FOLDER [PAGE…]
//
// on a lab of its own with a run of 20 steps and a second seed of it, or on the lab at $LYCEUM_URL with the token in $LYCEUM_TOKEN.
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

const looks = [
  { name: "wide", width: 1440, theme: "light" },
  { name: "dark", width: 1440, theme: "dark" },
  { name: "narrow", width: 360, theme: "light" },
];

/** Parts of pages, as the README has them in docs/images. */
const tour = {
  curves: { page: "overview", part: "section[aria-labelledby=group-1] .grid" },
  lineage: { page: "lineage", part: "#tree" },
  "arms-race": { page: "arms-race", part: "#view .grid" },
  "cross-play": { page: "cross-play", part: "section[aria-labelledby=matrix]" },
  archive: { page: "archive-beside", part: ".grid.maps" },
  problem: { page: "problem", part: ".beside" },
};

/** Two runs of the demo preset, waited for. */
async function makeRuns(lab) {
  await lab.api("POST", "/experiments", { name: "two seeds", description: "Does a population of four learn the same from another seed?" });
  const runs = [];
  for (const seed of [0, 1]) {
    const made = { preset: "demo", name: `demo, seed ${seed}`, tags: ["demo"], note: "Twenty steps on two CPU cores.", experiment: "two seeds" };
    runs.push((await lab.api("POST", "/runs", { ...made, overrides: { seed, steps: 20 } })).id);
  }
  for (;;) {
    const states = await Promise.all(runs.map(async (id) => lab.api("GET", `/runs/${id}`)));
    process.stderr.write(`\rsteps ${states.map((run) => `${run.step} of ${run.steps}`).join(", ")}   `);
    if (states.every((run) => run.state === "completed")) return runs;
    const failed = states.find((run) => ["failed", "cancelled"].includes(run.state));
    if (failed) throw new Error(`run ${failed.id} is ${failed.state}: ${failed.error}`);
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}

/** The two runs of a lab that is there which have come furthest. */
async function findRuns(lab) {
  const { items } = await lab.api("GET", "/runs?limit=100");
  const longest = items.sort((one, other) => other.step - one.step).map((run) => run.id);
  if (longest.length === 0) throw new Error("the lab has no runs");
  return [longest[0], longest[1] ?? longest[0]];
}

const lab = base ? { base, token, api: apiOf(base, token), stop: async () => undefined } : await startLab();
const browser = await startBrowser();
try {
  const [run, second] = base ? await findRuns(lab) : await makeRuns(lab);
  const pages = (await addresses(lab, run, second)).filter(([name]) => only.length === 0 || only.includes(name));
  const page = await browser.open();
  await logIn(page, lab);
  for (const { name: look, width, theme } of looks) {
    mkdirSync(join(folder, look), { recursive: true });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    for (const [name, path] of pages) {
      await page.setViewport({ width, height: 900 });
      await page.goto(lab.base + path, { waitUntil: "load" });
      // As tall as the page, so that charts that wait until they are near are drawn.
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      await page.setViewport({ width, height: Math.min(Math.max(height, 900), 12_000) });
      await page.waitForNetworkIdle({ idleTime: 250, timeout: 5000 }).catch(() => undefined);
      await page.screenshot({ path: join(folder, look, `${name}.png`) });
      process.stderr.write(`\r${look} ${name}                    `);
    }
  }
  mkdirSync(join(folder, "tour"), { recursive: true });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "light" }]);
  await page.setViewport({ width: 1440, height: 2400, deviceScaleFactor: 1.25 });
  for (const [name, { page: of, part }] of Object.entries(tour)) {
    const path = pages.find(([one]) => one === of)?.[1];
    if (!path) continue;
    await page.goto(lab.base + path, { waitUntil: "load" });
    await page.waitForNetworkIdle({ idleTime: 250, timeout: 5000 }).catch(() => undefined);
    await (await page.$(part)).screenshot({ path: join(folder, "tour", `${name}.webp`), type: "webp", quality: 80 });
  }
  process.stderr.write(`\r${pages.length * looks.length} pictures are in ${folder}          \n`);
  for (const fault of new Set(page.faults)) console.error(fault);
} finally {
  await browser.stop();
  await lab.stop();
}
