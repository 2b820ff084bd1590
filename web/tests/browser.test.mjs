// The pages in a browser, with a real run of the `demo` preset: typical use, with and without JavaScript, by keyboard,
// and with hostile text. Run with `npm test` in `web/`; script/test runs it after building the programs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { addresses } from "./addresses.mjs";
import { logIn, lyceum, missing, repository, sql, startBrowser, startLab, workerProgram } from "./lab.mjs";

const axe = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const skip = missing();
const patience = { timeout: 240_000 };
// Not a call that blocks: connections that the server closes meanwhile would be taken for open ones.
const execute = promisify(execFile);
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

let lab, browser, page, run, second;

before(async () => {
  if (skip) return;
  lab = await startLab();
  browser = await startBrowser();
  page = await browser.open();
});

after(async () => {
  await browser?.stop();
  await lab?.stop();
});

const scenario = (name, body) => test(name, { skip, timeout: 600_000 }, body);

const text = (selector) => page.$eval(selector, (element) => element.textContent.trim());
const go = (path) => page.goto(lab.base + path, { waitUntil: "load" });
const press = (selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);

/** A page as JSON. */
async function json(path) {
  const answer = await fetch(lab.base + path, { headers: { authorization: `Bearer ${lab.token}`, accept: "application/json" } });
  assert.equal(answer.status, 200, path);
  return answer.json();
}

let saving;

/** Saves a chart and returns the file as text. */
async function save(figure, kind) {
  const folder = join(lab.data, "..", "saved");
  mkdirSync(folder, { recursive: true });
  saving ??= await page.createCDPSession();
  await saving.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder, eventsEnabled: true, browserContextId: page.browserContext().id });
  const begun = once(saving, "Browser.downloadWillBegin");
  const ended = new Promise((resolve) => {
    const hear = (event) => {
      if (event.state !== "completed") return;
      saving.off("Browser.downloadProgress", hear);
      resolve();
    };
    saving.on("Browser.downloadProgress", hear);
  });
  await page.$eval(`${figure} [data-save="${kind}"]`, (button) => button.click());
  const [{ suggestedFilename }] = await begun;
  await ended;
  const path = join(folder, suggestedFilename);
  const saved = readFileSync(path, "latin1");
  rmSync(path);
  return saved;
}

/** What `read` finds, as soon as `isEnough` accepts it or patience is over. */
async function eventually(read, isEnough) {
  for (const begun = Date.now(); ; await pause(200)) {
    const found = await read();
    if (isEnough(found) || Date.now() - begun > patience.timeout) return found;
  }
}

/** Runs `body` while the main run stands still and nothing is measured, so that pages change only by what `body` does. */
async function atRest(body) {
  await lab.api("POST", `/runs/${run}/pause`);
  try {
    await nothingIsMeasured();
    await body();
  } finally {
    await lab.api("POST", `/runs/${run}/resume`);
  }
}

async function nothingIsMeasured() {
  while ((await lab.api("GET", "/evaluations?state=running&limit=1")).items.length > 0) await pause(500);
}

const savedRows = async (figure) => (await save(figure, "csv")).trim().split("\n");

/** Addresses of all pages. */
const everyPage = async () => (await addresses(lab, run, second)).map(([, path]) => path);

scenario("the link that `lyceum up` prints logs in, and on another site needs a click", async () => {
  const [typed, followed] = [await browser.open(), await browser.open()];
  await Promise.all([typed.waitForFunction(() => location.pathname === "/", patience), typed.goto(`${lab.base}/login#${lab.token}`)]);
  await followed.goto("about:blank");
  await followed.setContent(`<a href="${lab.base}/login#${lab.token}">go</a>`);
  await Promise.all([followed.waitForNavigation(), followed.click("a")]);
  await followed.waitForSelector("#by-hand", { visible: true });
  assert.equal(await followed.evaluate(() => location.pathname + location.hash), "/login");
  await Promise.all([followed.waitForNavigation(), followed.click("button[type=submit]")]);
  assert.equal(new URL(followed.url()).pathname, "/");
  await typed.close();
  await followed.close();
});

scenario("a login leads to the page that was asked for, and a link works in a tab that shows the form", async () => {
  const page = await browser.open();
  await page.goto(`${lab.base}/runs?state=running#view`);
  assert.equal(await page.evaluate(() => location.pathname), "/login");
  await page.type("#token", lab.token);
  await Promise.all([page.waitForNavigation(), page.click("button[type=submit]")]);
  assert.equal(page.url(), `${lab.base}/?state=running#view`);
  await page.close();

  const waiting = await browser.open();
  await waiting.goto(`${lab.base}/login`);
  await waiting.evaluate((token) => (location.hash = token), lab.token);
  await waiting.waitForSelector("#by-hand", { visible: true });
  assert.equal(await waiting.evaluate(() => location.hash), "", "the token is not left in the address");
  await Promise.all([waiting.waitForNavigation(), waiting.click("button[type=submit]")]);
  assert.equal(new URL(waiting.url()).pathname, "/");
  await waiting.close();
});

scenario("logging in leads to the first steps", async () => {
  await go("/");
  assert.match(page.url(), /\/login(\?|$)/, "redirects to the login page");
  await page.type("#token", "lyc_guess");
  await press("button[type=submit]");
  assert.match(await text("[role=alert]"), /unknown/);
  await logIn(page, lab);
  assert.equal(new URL(page.url()).pathname, "/");
  assert.ok(await page.$('#view [data-action="/api/v1/runs"]'), "there is no run yet: one button starts the demo");
});

scenario("the form shows errors next to fields while typing, and then creates the run", async () => {
  await go("/runs/new?preset=demo");
  const steps = await page.$('[data-path="steps"]');
  await steps.click({ clickCount: 3 });
  await steps.type("0");
  await page.waitForSelector('[data-path="steps"][aria-invalid=true]', patience);
  const fault = '[data-path="steps"] ~ [data-pointer]';
  assert.match(await text(fault), /1/);
  assert.equal(await page.$eval("#create", (button) => button.disabled), true);
  await steps.click({ clickCount: 3 });
  await page.keyboard.press("Backspace");
  await page.waitForFunction((place) => document.querySelector(place).textContent.startsWith("a value"), patience, fault);
  assert.equal(await text(fault), "a value is required: a whole number");
  await page.click('#faults a[href="#steps"]');
  assert.equal(await page.evaluate(() => document.activeElement.id), "steps");
  await steps.click({ clickCount: 3 });
  await steps.type("400");
  await page.waitForFunction(() => document.querySelector("#verdict").textContent === "Valid.", patience);
  // A fault that only a lookup finds is told in the dry run, too, at its field.
  await page.type("#run-experiment", "nowhere");
  await page.waitForFunction(() => !document.querySelector("#fault-experiment").hidden, patience);
  assert.match(await text("#fault-experiment"), /there is no experiment `nowhere`: choose one of \/experiments/);
  await page.click("#run-experiment", { clickCount: 3 });
  await page.keyboard.press("Backspace");
  await page.waitForFunction(() => document.querySelector("#verdict").textContent === "Valid.", patience);
  assert.match(await text("#difference"), /steps\s*100\s*400/);
  assert.match(await text("#command"), /"overrides":\{"steps":400\}/);
  await go("/experiments");
  await page.goBack();
  await page.waitForFunction(() => /steps\s*100\s*400/.test(document.querySelector("#difference").textContent), patience);
  const memory = await text("#memory");
  assert.match(memory, /seedling.*MiB/);
  const remembered = (expected) => page.waitForFunction(
    (before, same) => (document.querySelector("#memory").textContent.trim() === before) === same, patience, memory, expected,
  );
  await page.select('[data-path="compute.dtype"]', "bf16");
  await remembered(false);
  await page.select('[data-path="compute.dtype"]', "fp32");
  await remembered(true);
  // Measurements of a run go before its next steps, for which the scenarios below wait.
  await page.$eval('[data-path="benchmarks.rows"]', (field) => {
    field.value = "8";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.waitForFunction(() => document.querySelector("#command").textContent.includes('"benchmarks.rows":8'), patience);
  await page.waitForFunction(() => document.querySelector("#verdict").textContent === "Valid.", patience);
  await press("#create");
  run = new URL(page.url()).pathname.split("/").at(-1);
  assert.match(run, /^[0-9a-f-]{36}$/);
  assert.equal(await text("h1"), "demo");
});

scenario("curves update without a reload", async () => {
  await page.evaluate(() => (window.sameDocument = true));
  const table = '[data-chart="entropy"] details';
  const lastStep = () => page.$eval(`${table} tbody tr:last-child th`, (cell) => Number(cell.textContent)).catch(() => -1);
  await page.waitForFunction(() => Number(document.querySelector("#step").textContent) >= 2, patience);
  assert.equal(await page.evaluate(() => window.sameDocument), true, "the page was reloaded");
  await go(`/runs/${run}/metrics`);
  await page.evaluate(() => (window.sameDocument = true));
  await page.$eval('[data-chart="entropy"]', (figure) => figure.scrollIntoView());
  await page.waitForSelector('[data-chart="entropy"] [data-drawn]', patience);
  await page.click(`${table} summary`);
  const seen = await lastStep();
  await page.waitForFunction(
    (selector, before) => Number(document.querySelector(`${selector} tbody tr:last-child th`)?.textContent ?? -1) >= before + 2,
    patience, table, seen,
  );
  assert.equal(await page.evaluate(() => window.sameDocument), true, "the page was reloaded");
});

scenario("the overview opens with held-out accuracy, which comes without a reload", async () => {
  await go(`/runs/${run}`);
  await page.evaluate(() => (window.sameDocument = true));
  assert.equal(await page.$eval("#view h2", (first) => first.id), "held-out-title");
  await page.waitForSelector("#held-out-accuracy [data-drawn]", patience);
  assert.equal(await page.evaluate(() => window.sameDocument), true, "the page was reloaded");
  const [head, first] = await savedRows("#held-out-accuracy");
  for (const curve of ["greedy", "base, greedy"]) assert.ok(head.includes(curve), head);
  const [step, ...values] = first.split(",");
  assert.equal(step, "0", first);
  assert.ok(values.filter((value) => value !== "").every((value) => Number(value) >= 0 && Number(value) <= 100), first);
  assert.ok(await page.$("#held-out-length figcaption"));
  await press('nav[aria-label=Curve] a:not([aria-current])');
  assert.equal(new URL(page.url()).search, "?curve=pass_at_k");
  await page.waitForSelector("#held-out-accuracy [data-drawn]", patience);
  const [sampled] = await savedRows("#held-out-accuracy");
  for (const curve of ["pass@8", "base, pass@8"]) assert.ok(sampled.includes(curve), sampled);
});

scenario("nothing moves on the pages that follow a run, from its first moment", () => atRest(watchRun));

/** Shows a run of three steps, with measurements, in three windows, and fails if anything moves in one of them. */
async function watchRun() {
  const windows = await Promise.all([["a run", 1280], ["a run", 360], ["/", 1280]].map(async ([shown, width]) => {
    const watched = await browser.open();
    await watchMoves(watched);
    await logIn(watched, lab);
    await watched.setViewport({ width, height: 900 });
    return { shown, width, watched };
  }));
  // More rows would hold its next step up for so long that the pages warn of it.
  const overrides = { steps: 3, "benchmarks.every": 1, "benchmarks.rows": 8 };
  const made = await lab.api("POST", "/runs", { preset: "demo", name: "watched", overrides });
  await Promise.all(windows.map(async ({ shown, watched }) => {
    await watched.goto(lab.base + (shown === "/" ? "/" : `/runs/${made.id}`), { waitUntil: "load" });
    assert.equal(await watched.evaluate(() => document.visibilityState), "visible");
    await watched.evaluate(() => (window.sameDocument = true));
  }));
  while ((await lab.api("GET", `/runs/${made.id}`)).state === "running") await pause(500);
  // Measurements move nothing either, and those still waiting would hold up the run that goes on below.
  await nothingIsMeasured();
  for (const { shown, width, watched } of windows) {
    if (shown !== "/") await watched.waitForFunction(() => document.querySelector("#state").textContent === "completed", patience);
    // Two frames, so that what moved last has been counted.
    await watched.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    const moved = await watched.evaluate(() => ({ ...window.moved, same: window.sameDocument }));
    assert.equal(moved.same, true, "the page was reloaded");
    // Up to 0.1 counts as good (web.dev/cls).
    assert.ok(moved.value <= 0.02, `${shown} at ${width} pixels moves by ${moved.value}:\n${moved.nodes.join("\n")}`);
    await watched.close();
  }
}

scenario("a chart drawn late has its members' curves from the first step", async () => {
  await go(`/runs/${run}/metrics`);
  const step = async () => (await lab.api("GET", `/runs/${run}`)).step;
  const seen = await step();
  await eventually(step, (now) => now >= seen + 2);
  await page.$eval('[data-chart="entropy"]', (figure) => figure.scrollIntoView());
  await page.waitForSelector('[data-chart="entropy"] [data-drawn]', patience);
  // The members' curves come with a request of their own.
  const filled = (line) => line.split(",").slice(1).filter((value) => value !== "").length;
  const [, first] = await eventually(() => savedRows('[data-chart="entropy"]'), ([, line]) => filled(line) >= 4);
  assert.equal(first.split(",")[0], "0", first);
  assert.ok(filled(first) >= 4, `members lack the first step: ${first}`);
});

scenario("a view follows the run, and stops while hidden", async () => {
  await go(`/runs/${run}/arms-race`);
  await page.evaluate(() => (window.sameDocument = true));
  await page.waitForSelector("#outcomes [data-drawn]", patience);
  await page.click("#outcomes summary");
  await page.$eval("#smoothing", (field) => {
    field.value = "0.5";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  const rows = () => page.$$eval("#outcomes tbody tr", (all) => all.map((row) => Number(row.cells[0].textContent)));
  const [seen] = [await rows()];
  await page.waitForFunction((before) => document.querySelectorAll("#outcomes tbody tr").length >= before + 2, patience, seen.length);
  const now = await rows();
  assert.deepEqual(now, [...now.keys()], "every step has exactly one row");
  const update = await page.waitForRequest((request) => request.headers()["lyceum-from-step"], patience);
  assert.match(update.url(), /arms-race(\?smoothing=0\.5)?$/, "only new points are asked for");
  assert.equal(await page.$eval("#outcomes details", (details) => details.open), true, "the opened section was closed");
  assert.equal(await page.$eval("#smoothing-value", (output) => output.value), "0.50", "the setting was lost");
  assert.equal(await page.evaluate(() => window.sameDocument), true, "the page was reloaded");
  // The chart has the new steps too.
  const drawn = await savedRows("#outcomes");
  assert.ok(drawn.length - 1 >= now.length, drawn.join("\n"));

  const look = (hidden) =>
    page.evaluate((away) => {
      Object.defineProperty(document, "hidden", { value: away, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  const asked = [];
  const listen = (request) => asked.push(request.url());
  await look(true);
  // A request that was sent before is heard before this answers; what it brings may still arrive.
  await page.evaluate(() => undefined);
  page.on("request", listen);
  const step = async () => (await lab.api("GET", `/runs/${run}`)).step;
  const left = await step();
  while ((await step()) < left + 2) await pause(200);
  assert.deepEqual(asked, [], "a hidden page requests nothing");
  const before = (await rows()).length;
  await look(false);
  await page.waitForFunction((length) => document.querySelectorAll("#outcomes tbody tr").length > length, patience, before);
  page.off("request", listen);
});

scenario("a chart is saved as PNG, SVG and CSV", async () => {
  await go(`/runs/${run}/metrics`);
  await page.$eval('[data-chart="entropy"]', (figure) => figure.scrollIntoView());
  await page.waitForSelector('[data-chart="entropy"] [data-drawn]', patience);
  for (const [kind, begins] of [["png", "\u0089PNG"], ["svg", "<svg"], ["csv", '"step"']]) {
    const saved = await save('[data-chart="entropy"]', kind);
    assert.ok(saved.startsWith(begins), `${kind}: ${saved.slice(0, 80)}`);
  }
  await page.waitForFunction(() => performance.getEntriesByType("resource").some((one) => one.name.includes("/metrics?")), patience);
  const rows = await savedRows('[data-chart="entropy"]');
  assert.match(rows[0], /"mean of teachers"/);
  assert.ok(rows.length > 2, rows.join("\n"));
});

scenario("members of one side have colours of their own", async () => {
  await go(`/runs/${run}/metrics`);
  await page.$eval('[data-chart="entropy"]', (figure) => figure.scrollIntoView());
  await page.waitForSelector('[data-chart="entropy"] [data-drawn]', patience);
  const living = (await lab.api("GET", `/runs/${run}/members?alive=true`)).items.length;
  const wanted = Math.min(living, 4);
  const colours = async () => {
    const strokes = (await save('[data-chart="entropy"]', "svg")).matchAll(/stroke="(rgb[^"]*)"[^>]*stroke-opacity="0.55"/g);
    return new Set([...strokes].map((found) => found[1]));
  };
  // The members' curves come with a request of their own.
  const seen = await eventually(colours, (found) => found.size >= wanted);
  assert.ok(seen.size >= wanted, `${living} members, colours ${[...seen]}`);
});

scenario("curves can be smoothed, drawn on a log scale and zoomed, and reset", async () => {
  const figure = '[data-chart="entropy"]';
  const picture = () => save(figure, "svg");
  const plain = await picture();
  const set = (id, value) =>
    page.$eval(`#${id}`, (field, now) => {
      if (field.type === "checkbox") field.checked = now;
      else field.value = now;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }, value);
  const values = await savedRows(figure);
  for (const [id, value, back] of [["smoothing", "0.9", "0"], ["log", true, false], ["to", "1", ""]]) {
    await set(id, value);
    assert.notEqual(await picture(), plain, `${id} changes nothing`);
    await set(id, back);
  }
  assert.ok((await savedRows(figure)).length >= values.length, "all values are saved, not only those drawn");
  const box = await (await page.$(`${figure} .canvas`)).boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  const [from, to] = await page.$$eval("#from, #to", (fields) => fields.map((field) => Number(field.value)));
  assert.ok(from >= 0 && to > from, `${from} to ${to}`);
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2, { count: 2 });
  assert.deepEqual(await page.$$eval("#from, #to", (fields) => fields.map((field) => field.value)), ["", ""]);
});

scenario("charts are found by their words, and a point leads to the samples of its step", async () => {
  await go(`/runs/${run}/metrics`);
  const shown = () => page.$$eval("figure[data-chart]", (all) => all.filter((one) => one.checkVisibility()).map((one) => one.dataset.chart));
  await page.type("#find-chart", "entropy");
  const found = await shown();
  assert.ok(found.length > 0 && found.every((name) => name.includes("entropy")), String(found));
  await page.waitForSelector('[data-chart="entropy"] [data-drawn]', patience);
  const box = await (await page.$('[data-chart="entropy"] .canvas')).boundingBox();
  await Promise.all([page.waitForNavigation(), page.mouse.click(box.x + box.width * 0.5, box.y + box.height / 2)]);
  const there = new URL(page.url());
  assert.equal(there.pathname, `/runs/${run}/samples`);
  const step = there.searchParams.get("step");
  assert.match(step, /^\d+$/);
  assert.ok((await page.$$eval("#list ol a > span", (all) => all.map((one) => one.textContent))).every((label) => label.startsWith(`Step ${step},`)));
});

scenario("from a list of runs to the text of a completion it takes two clicks, and j and k move on", async () => {
  await go("/runs");
  await press(`main a[href="/runs/${run}"]`);
  await press(`nav[aria-label=Run] a[href="/runs/${run}/samples"]`);
  assert.ok((await text("#text article pre")).length > 0);
  const open = () => page.$eval("#list [aria-current]", (link) => link.id);
  const first = await open();
  await page.keyboard.press("j");
  await page.waitForFunction((before) => document.querySelector("#list [aria-current]")?.id !== before, patience, first);
  const second = await open();
  assert.equal(new URL(page.url()).searchParams.get("open"), second.replace("item-", ""));
  await page.keyboard.press("k");
  await page.waitForFunction((before) => document.querySelector("#list [aria-current]")?.id === before, patience, first);
});

scenario("a run pauses and resumes", async () => {
  await go(`/runs/${run}`);
  // The page may be loading once more when an event of the run comes in.
  const is = (state) => page.waitForFunction((wanted) => document.querySelector("#state")?.textContent === wanted, patience, state);
  const button = (label) => page.$$eval("button[data-action]", (all, wanted) => all.some((one) => one.textContent === wanted), label);
  await press('button[data-action$="/pause"]');
  await is("paused");
  assert.ok(await button("Resume"));
  await press('button[data-action$="/resume"]');
  await is("running");
});

scenario("a second run can be compared", async () => {
  const made = await lab.api("POST", "/runs", { preset: "demo", name: "another seed", overrides: { seed: 1, steps: 2, "benchmarks.rows": 8 } });
  second = made.id;
  await lab.api("POST", "/experiments", { name: "seeds", description: "Two seeds of one arm." });
  await lab.api("PATCH", `/runs/${second}`, { experiment: "seeds", tags: ["tagged"] });
  await go(`/runs/${second}`);
  await page.waitForFunction(() => document.querySelector("#state").textContent === "completed", patience);
  const { runs } = await json(`/compare?runs=${run},${second}`);
  assert.deepEqual(runs.map((one) => one.id).sort(), [run, second].sort());
  await go(`/compare?runs=${run},${second}`);
  assert.ok(await page.$(`main a[href="/runs/${second}"]`));
});

scenario("a run can be forked before its current step or an earlier one", async () => {
  await go(`/runs/${run}`);
  await page.click("#fork summary");
  const step = () => text("#step").then(Number);
  const seen = await step();
  await page.waitForFunction((before) => Number(document.querySelector("#step").textContent) >= before + 2, patience, seen);
  assert.equal(await page.$eval("#fork", (details) => details.open), true, "the opened section was closed");
  assert.ok((await page.$eval("#fork-step", (field) => Number(field.value))) >= seen + 2, "the fork step was not updated");
  // A completed run is forked before its last step.
  await go(`/runs/${second}`);
  assert.equal(await page.$eval("#fork", (details) => details.open), true, "a completed run offers to go on");
  assert.equal(await page.$eval("#fork-step", (field) => field.value), "1");
  await press("#fork form[aria-label=Fork] button");
  const forked = new URL(page.url()).pathname.split("/").at(-1);
  assert.notEqual(forked, second);
  const { forked_from, forked_at_step } = await lab.api("GET", `/runs/${forked}`);
  assert.deepEqual([forked_from, forked_at_step], [second, 1]);
  assert.ok(await page.$(`main a[href="/runs/${second}"]`), "a fork leads to its run");
  await lab.api("POST", `/runs/${forked}/cancel`);
  // Both have the same arm and seed, so they are never averaged.
  for (const arms of ["", "&arms=true"]) {
    await go(`/compare?runs=${second},${forked}&metrics=solve_rate${arms}`);
    // Charts are drawn when they come into view.
    await page.$eval("#metric-solve_rate", (figure) => figure.scrollIntoView());
    await page.waitForSelector("#metric-solve_rate [data-drawn]", patience);
    const [head] = await savedRows("#metric-solve_rate");
    assert.match(head, /^"step","another seed[^"]*","another seed[^"]*"$/);
  }
  // From here on the main run has what the pages show, and leaves the processor to the others.
  await lab.api("POST", `/runs/${run}/pause`);
});

scenario("a run's tags and note are edited in the list", async () => {
  await go("/");
  await page.click(`[data-edit="${second}"]`);
  await page.waitForSelector("#edit[open]", patience);
  assert.equal(await page.$eval("#edit-tags", (field) => field.value), "tagged");
  await page.type("#edit-note", "Ended early.");
  await page.keyboard.press("Escape");
  assert.equal(await page.$("#edit[open]"), null, "Escape closes it");
  await page.click(`[data-edit="${second}"]`);
  await page.waitForSelector("#edit[open]", patience);
  assert.equal(await page.$eval("#edit-note", (field) => field.value), "", "abandoned input was kept");
  await page.type("#edit-note", "Two steps are enough.");
  await press("#edit button:not([type])");
  assert.match(await text(`#run-${second}`), /tagged\s*Two steps are enough\./);
  await go("/experiments?name=SEE");
  assert.match(await text("main"), /seeds/);
  assert.deepEqual((await json("/experiments?name=none")).items, []);
});

scenario("a table of runs has columns of one's choice and is compared from", async () => {
  await go("/");
  await page.type("#column", "metrics.solve_rate");
  await press('[aria-label="Columns"] button');
  assert.equal(new URL(page.url()).searchParams.get("columns"), "metrics.solve_rate");
  const heads = () => page.$$eval("thead th", (all) => all.map((head) => head.textContent.trim()));
  assert.ok((await heads()).includes("solve rate"), String(await heads()));
  await Promise.all([page.waitForNavigation(), page.$$eval("thead .sorts", (all) => all.find((one) => one.textContent === "solve rate").click())]);
  assert.equal(await page.$eval('[aria-sort="descending"]', (head) => head.textContent.trim()), "solve rate");
  await page.type("#filter", "ANOTHER SEED");
  await press('[aria-label="Filter runs"] button');
  assert.equal(new URL(page.url()).searchParams.get("q"), "ANOTHER SEED");
  assert.deepEqual(await page.$$eval("tbody th[scope=row]", (all) => [...new Set(all.map((one) => one.textContent.includes("another seed")))]), [true]);
  await go("/");
  for (const one of [run, second]) await page.click(`[data-choose="${one}"]`);
  assert.equal(await text("#chosen-count"), "2 runs are selected.");
  await page.waitForSelector("#overlay-0 [data-drawn]", patience);
  assert.equal(new URL(page.url()).searchParams.get("overlay"), `${run},${second}`);
  await press('[data-chosen="compare"]');
  assert.equal(new URL(page.url()).searchParams.get("runs"), `${run},${second}`);
  await go("/?group=config.seed&columns=metrics.solve_rate");
  assert.ok((await page.$$eval("tbody tr", (all) => all.length)) >= 2, "a group for each seed");
});

scenario("selected runs are tagged, moved and deleted, and found by what is inside their names", async () => {
  const spare = [];
  for (const name of ["spare one", "spare two"]) {
    const made = await lab.api("POST", "/runs", { preset: "demo", name, overrides: { steps: 1, benchmarks: null } });
    await lab.api("POST", `/runs/${made.id}/cancel`);
    spare.push(made.id);
  }
  const names = () => page.$$eval("tbody th[scope=row] > a", (all) => all.map((one) => one.textContent.trim()).sort());
  const choose = async () => {
    for (const one of spare) await page.click(`[data-choose="${one}"]`);
    // Their curves move what is below them. The address names them once they are there.
    await page.waitForFunction((ids) => new URLSearchParams(location.search).get("overlay") === ids, patience, spare.join(","));
  };
  const answer = async (dialog, field, value) => {
    await page.waitForSelector(`${dialog}[open]`, patience);
    await page.type(`${dialog} [name="${field}"]`, value);
    await press(`${dialog} button:not([type])`);
  };
  await go("/?q=PARE");
  assert.deepEqual(await names(), ["spare one", "spare two"]);
  await choose();
  await page.click('[data-chosen="tag"]');
  await answer("#tag-chosen", "tags", "left over, twice");
  await go("/?tag=left+over");
  assert.deepEqual(await names(), ["spare one", "spare two"]);
  await choose();
  await page.click('[data-chosen="move"]');
  await answer("#move-chosen", "experiment", "seeds");
  assert.match(await page.$eval(`#run-${spare[0]}`, (row) => row.closest("tbody").textContent), /seeds/);
  await choose();
  page.once("dialog", (dialog) => dialog.accept());
  await press('[data-chosen="delete"]');
  assert.deepEqual(await names(), []);
});

scenario("runs are lines across parameters and outcomes, each of which leads to its run", async () => {
  page.faults.length = 0;
  await go("/?columns=config.seed,config.steps,metrics.solve_rate,metrics.entropy");
  await page.$eval("#parallel", (figure) => figure.scrollIntoView());
  await page.waitForSelector("#parallel [data-drawn]", patience);
  assert.ok((await save("#parallel", "svg")).startsWith("<svg"));
  await page.click("#parallel summary");
  const rows = await page.$$eval("#parallel tbody tr", (all) => all.map((row) => row.textContent.trim()));
  assert.ok(rows.length >= 2 && rows.some((row) => row.startsWith("another seed")), rows.join("\n"));
  const first = await page.$eval("#parallel tbody a", (link) => link.getAttribute("href"));
  await press("#parallel tbody a");
  assert.equal(new URL(page.url()).pathname, first);
  assert.deepEqual(page.faults, []);
});

scenario("a worker's page shows its processor and memory, and an item's page its log", async () => {
  const worker = (await lab.api("GET", "/workers?alive=true")).items[0];
  await go("/workers");
  await press(`#worker-${worker.id} th a`);
  assert.equal(new URL(page.url()).pathname, `/workers/${worker.id}`);
  await page.waitForSelector("#cores [data-drawn]", patience);
  await page.waitForSelector("#memory [data-drawn]", patience);
  assert.match((await savedRows("#memory"))[0], /hours until now/);
  const done = (await lab.api("GET", `/work?run=${second}&kind=rollout`)).items;
  const logs = [];
  for (const item of done.slice(0, 5)) {
    await go(`/work/${item.id}`);
    logs.push(await text("section[aria-labelledby=log-title]"));
  }
  assert.ok(logs.some((log) => /progress/.test(log)), logs.join("\n"));
});

scenario("a verdict leads to its evidence", async () => {
  await go(`/runs/${second}`);
  const { findings } = (await json(`/runs/${second}`)).verdict;
  assert.ok(findings.length > 0);
  const leads = await page.$$eval("[aria-label=Verdict] a", (all) => all.map((one) => one.getAttribute("href")));
  assert.ok(leads.length >= 2, String(leads));
  for (const lead of leads) {
    // Within the page there is no answer.
    assert.equal((await go(lead))?.status() ?? 200, 200, lead);
    const fragment = lead.split("#")[1];
    if (fragment) assert.ok(await page.$(`#${fragment}`), `${lead} leads to nothing`);
  }
});

scenario("how curves are drawn is kept in the address", async () => {
  await go(`/runs/${second}/metrics`);
  assert.equal(await page.$eval("#smoothing", (field) => field.value), "0.6", "curves are smoothed by default");
  await page.$eval("#smoothing", (field) => {
    field.value = "0.3";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await page.type("#from", "1");
  await page.waitForFunction(() => location.search === "?smoothing=0.3&from=1", patience);
  await page.reload();
  assert.deepEqual(await page.$$eval("#smoothing, #from", (fields) => fields.map((field) => field.value)), ["0.3", "1"]);
  await go(`/compare?runs=${run},${second}&over=tokens&smoothing=0.3&from=0`);
  await page.waitForSelector("[data-drawn]", patience);
});

scenario("lists in the form have editors, and a search finds a field", async () => {
  await go("/runs/new?preset=demo");
  const path = "populations.main.members";
  await page.type("#find-field", "members");
  const list = `[data-path="${path}"]`;
  await page.waitForFunction((selector) => document.querySelector(selector).checkVisibility(), patience, list);
  assert.equal(await page.$eval('[data-path="steps"]', (field) => field.checkVisibility()), false, "other fields are hidden");
  const entries = () => page.$$eval(`${list} > .entry`, (all) => all.length);
  const before = await entries();
  await page.click(`${list} > [data-add]`);
  assert.equal(await entries(), before + 1);
  await page.type(`${list} > .entry:nth-of-type(${before + 1}) [data-item="count"]`, "2");
  await page.waitForFunction(() => /fault/.test(document.querySelector("#verdict").textContent), patience);
  await page.click(`${list} > .entry:nth-of-type(${before + 1}) input[value="student"]`);
  await page.waitForFunction(() => document.querySelector("#verdict").textContent === "Valid.", patience);
  assert.match(await text("#difference"), /populations\.main\.members/);
  await page.click(`${list} > .entry:nth-of-type(${before + 1}) [data-remove]`);
  assert.equal(await entries(), before);
  await page.waitForFunction(() => !document.querySelector("#difference").textContent.includes("populations.main.members"), patience);
});

scenario("words are explained where they stand", async () => {
  await go(`/runs/${second}`);
  await page.focus("#now [tabindex='0'][title]");
  const meaning = () => page.$eval("#meaning", (box) => (box.hidden ? "" : box.textContent));
  assert.ok((await meaning()).length > 20);
  await page.keyboard.press("Escape");
  assert.equal(await meaning(), "", "Escape hides it");
});

scenario("any run is reached from any page by the keyboard, and `?` lists the keys", async () => {
  const found = await browser.open();
  await logIn(found, lab);
  const options = () => found.$$eval("#found [role=option]", (all) => all.map((one) => one.textContent));
  const active = () => found.$eval("#finder input", (input) => document.getElementById(input.getAttribute("aria-activedescendant"))?.textContent ?? "");
  await found.goto(`${lab.base}/settings`);
  await found.keyboard.down("Control");
  await found.keyboard.press("k");
  await found.keyboard.up("Control");
  const pages = await eventually(options, (all) => all.length > 0);
  assert.ok(pages.some((one) => one.includes("Workers")) && pages.some((one) => one.includes("New run")), pages.join());
  await found.evaluate(axe);
  const { violations } = await found.evaluate(() => window.axe.run(document.querySelector("#finder"), { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes[0]?.html}`), []);
  const first = await active();
  await found.keyboard.press("ArrowDown");
  assert.notEqual(await active(), first, "arrows choose");
  await found.keyboard.press("ArrowUp");
  assert.equal(await active(), first);
  const name = (await lab.api("GET", `/runs/${run}`)).name;
  await found.keyboard.type(name);
  const runs = await eventually(options, (all) => all.some((one) => one.startsWith(name)));
  assert.ok(runs.some((one) => one.startsWith(name)), runs.join());
  // Problems have no names; they are found by the beginning of their ids.
  const problem = (await lab.api("GET", `/runs/${run}/problems?valid=true`)).items[0].id;
  await found.$eval("#finder input", (input) => (input.value = ""));
  await found.keyboard.type(problem.slice(0, 13));
  await eventually(active, (text) => text.includes(problem));
  await Promise.all([found.waitForNavigation(), found.keyboard.press("Enter")]);
  assert.equal(new URL(found.url()).pathname, `/runs/${run}/problems/${problem}`);
  await found.keyboard.press("?");
  assert.ok(await found.$eval("#keys", (dialog) => dialog.open && dialog.textContent.includes("Ctrl K")));
  await found.keyboard.press("Escape");
  assert.ok(!(await found.$eval("#keys", (dialog) => dialog.open)));
  await found.goto(`${lab.base}/`);
  await found.focus("#filter");
  await found.keyboard.type("?");
  assert.ok(!(await found.$eval("#keys", (dialog) => dialog.open)), "letters that are typed are text");
  assert.deepEqual(found.faults, []);
  await found.close();
});

scenario("from the archive to a problem to an attempt", async () => {
  await go(`/runs/${run}/archive`);
  const problems = (await lab.api("GET", `/runs/${run}/problems?valid=true`)).items;
  const solved = problems.find((problem) => problem.attempts > 0) ?? problems[0];
  await go(`/runs/${run}/problems/${solved.id}`);
  const { attempts } = await json(`/runs/${run}/problems/${solved.id}`);
  for (const attempt of attempts) assert.ok(await page.$(`#attempt-${attempt.id}`), attempt.id);
});

scenario("a run is measured from its page, down to the samples", async () => {
  const unmeasured = await lab.api("POST", "/runs", { preset: "demo", name: "never measured", overrides: { steps: 1, benchmarks: null } });
  await lab.api("POST", `/runs/${unmeasured.id}/cancel`);
  await go(`/runs/${unmeasured.id}/benchmarks`);
  assert.match(await text("main"), /lyceum benchmark evaluate --run/, "an empty page explains what to do");
  await press('a[href^="/datasets/new"]');
  assert.deepEqual(await page.$$eval("#purpose, #format", (fields) => fields.map((field) => field.value)), ["benchmark", "suite"]);
  await go(`/runs/${second}/benchmarks`);
  const rows = [0, 1, 2].map((number) => ({
    task_id: `seedling/${number}`, type: "code_f", program: "def f(a):\n return a", message: "gives it back", pairs: [["1", "1"], ["2", "2"], ["3", "3"]], level: 1,
  }));
  const file = join(lab.data, "..", "held-out.jsonl");
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join("\n"));
  await execute(lyceum, ["--data", lab.data, "benchmark", "import", "held-out-seedling", file]);
  await go(`/runs/${second}/benchmarks`);
  const form = new URL(await page.$eval("section[aria-labelledby=measure] a.button", (link) => link.href));
  assert.ok((await json(form.pathname + form.search)).spec.suites.includes("held-out-seedling"), "what is imported is suggested");
  form.searchParams.set("suites", "held-out-seedling");
  await go(form.pathname + form.search);
  await press("#create");
  assert.match(new URL(page.url()).pathname, /^\/evaluations\/[0-9a-f-]{36}$/);
  const evaluation = new URL(page.url()).pathname;
  await page.evaluate(() => (window.stayed = true));
  await page.waitForSelector('#head [data-state="completed"]', patience);
  await page.waitForSelector("#results + .table tbody tr", patience);
  assert.ok(await page.evaluate(() => window.stayed), "the page follows the evaluation without a reload");
  await go(`${evaluation}?suite=held-out-seedling&subject=0`);
  assert.equal(await text("#samples + form + article h3"), "seedling/0");
  await go(`/runs/${second}/benchmarks`);
  // A score of all or none has an interval, any other its standard error.
  assert.match(await text("section[aria-labelledby=table] a[href*=samples]"), /^\d+\.\d (± \d+\.\d|\(\d+\.\d to \d+\.\d\))$/);
});

scenario("both sides are held, an attempt comes again, and picks are side by side", async () => {
  await go(`/runs/${second}/arms-race`);
  const body = JSON.parse(await page.$eval("section[aria-labelledby=frozen-side] button", (button) => button.dataset.body));
  assert.equal(body.spec.run, second);
  assert.deepEqual(body.spec.steps, [0, 1, 2]);
  const { id } = await lab.api("POST", "/evaluations", { spec: { ...body.spec, problems: 4 }, priority: 50 });
  await go(`/evaluations/${id}`);
  await page.evaluate(() => (window.stayed = true));
  await page.waitForSelector('#head [data-state="completed"]', patience);
  await page.waitForSelector("#along-students", patience);
  assert.ok(await page.evaluate(() => window.stayed), "the page follows the evaluation without a reload");
  const { result } = await lab.api("GET", `/evaluations/${id}`);
  for (const { from, to } of [result.along_students, result.along_teachers]) assert.deepEqual([from, to], [0, 2]);
  assert.ok(await page.$("section[aria-labelledby=verdict]"));
  const matrix = await page.$$eval("section[aria-labelledby=matrix] tbody tr", (rows) => rows.map((row) => row.querySelectorAll("td").length));
  assert.ok(matrix.length >= 3 && matrix.every((cells) => cells >= 3), `rows of ${matrix} cells`);
  await page.$eval("#along-students", (figure) => figure.scrollIntoView());
  await page.waitForSelector("#along-students [data-drawn]", patience);
  assert.match((await savedRows("#along-students"))[0], /^"step of the solvers","step 0",/);

  const attempt = (await lab.api("GET", `/runs/${second}/attempts`)).items[0];
  await go(`/runs/${second}/problems/${attempt.problem_id}`);
  await press(`#attempt-${attempt.id} button`);
  await page.waitForSelector('#head [data-state="completed"]', patience);
  await page.waitForSelector("#difference", patience);
  assert.equal((await json(new URL(page.url()).pathname)).result.equal, true);
  assert.equal(await text("section[aria-label=Recorded] pre"), await text("section[aria-label=Again] pre"));

  await go(`/compare?runs=${run},${second}`);
  await press('a[href^="/compare/picks"]');
  const { pathname, search } = new URL(page.url());
  const { rows } = await json(pathname + search);
  assert.ok(rows.some(({ sides }) => sides.some(({ median }) => median?.ast_depth >= 0)), JSON.stringify(rows));
});

scenario("children of operators are compared with their parents", async () => {
  const { config } = await lab.api("GET", "/presets/rlvr-seedling");
  delete config.benchmarks;
  const parameters = { ...config.parameters, slices: true, batch: 4, n: 4, items: { solve: 4, update: 2 }, dataset: { name: "seedling-training", rows: 16 } };
  config.populations.main.members[0].count = 2;
  const parents = await lab.api("POST", "/runs", { config: { ...config, steps: 3, parameters, scheduling: { priority: 50 } }, name: "parents" });
  const stateOf = async (path) => (await lab.api("GET", path)).state;
  while ((await stateOf(`/runs/${parents.id}`)) === "running") await pause(500);
  const members = ["solver-0", "solver-1"].map((member) => ({ run: parents.id, member }));
  const spec = { type: "operator_retention", parents: members, snapshots: [3], operators: ["copy_parent", "M1", "X1"], steps: 2, every: 1, rows: 4, n: 2 };
  const { id } = await lab.api("POST", "/evaluations", { spec, priority: 50 });
  await go(`/evaluations/${id}`);
  await page.evaluate(() => (window.stayed = true));
  await page.waitForSelector('#head [data-state="completed"]', patience);
  await page.waitForSelector("#recovery-4 td:nth-child(7)", patience);
  assert.ok(await page.evaluate(() => window.stayed), "the page follows the evaluation without a reload");
  assert.match(await text("#recovery-1"), /^copy_parent identity control/);
  assert.match(await text("#recovery-3"), /^X1 DARE\s+3\s*solver-0/);
  assert.match(await text("#recovery-4"), /solver-1/);
  await page.$eval("#retention-X1", (figure) => figure.scrollIntoView());
  await page.waitForSelector("#retention-X1 [data-drawn]", patience);
  const [head, ...rows] = await savedRows("#retention-X1");
  assert.match(head, /^"step of the parent's run","X1 of step 3, solver-0's task",.*"parent solver-1"/);
  assert.equal(rows.length, 6, "steps 0 to 3 of the parents, and the children up to step 5");
});

scenario("a file is imported by a map of its columns, after its faults were shown", async () => {
  const file = join(lab.data, "..", "rows.jsonl");
  writeFileSync(file, '{"problem": "One and one?", "result": "2"}\n{"problem": "Two and two?", "result": "4"}\n');
  await go("/datasets/new");
  await (await page.$("#file")).uploadFile(file);
  assert.equal(await page.$eval("#name", (name) => name.value), "rows", "a name is proposed");
  await page.select("#format", "map");
  await page.type("#map-question", "problem");
  await page.type("#map-gold", "answer");
  assert.match(await text("#command"), /lyceum dataset import rows\.jsonl.*--oracle math.*--map gold=answer/s);
  await page.click("#check");
  await page.waitForFunction(() => document.querySelector("#faults").textContent !== "", patience);
  assert.match(await text("#faults"), /line 1: missing field `answer`; the row has `problem`, `result` \(and so on one more line\)/);
  await page.$eval("#map-gold", (gold) => gold.select());
  await page.type("#map-gold", "result");
  await page.click("#check");
  await page.waitForFunction(() => document.querySelector("#verdict").textContent === "2 rows read, 2 kept.", patience);
  assert.match(await text("#rows"), /"gold": "2".*"gold": "4"/s);
  assert.equal(await page.$eval("#faults", (faults) => faults.hidden), true);
  await press("#send");
  assert.match(page.url(), /\/datasets\/[0-9a-f-]{36}$/);
  assert.match(await text("main"), /map math: gold = result, question = problem/);
});

scenario("a dataset is imported with a reward of one's own, which then scores a given answer", async () => {
  const file = join(lab.data, "..", "scored.jsonl");
  writeFileSync(file, '{"problem": "One and one?", "result": "2"}\n');
  await go("/datasets/new?format=map&oracle=python");
  await (await page.$("#file")).uploadFile(file);
  await page.type("#map-question", "problem");
  await page.type("#reward-source", "def score(prompt): return 1");
  await page.click("#check");
  await page.waitForFunction(() => document.querySelector("[data-of=reward]").textContent.includes("three values"), patience);
  const source = join(lab.data, "..", "reward.py");
  writeFileSync(source, "def score(prompt, completion, row):\n    return {'right': completion == row['result'], 'length': len(completion)}\n");
  await (await page.$("#reward-file")).uploadFile(source);
  await page.waitForFunction(() => document.querySelector("#reward-source").value.includes("'right'"), patience);
  assert.match(await text("#command"), /lyceum dataset import scored\.jsonl.*--reward reward\.py.*--map question=problem$/s);
  await press("#send");
  await page.click("details:has([name='spec.completion']) summary");
  await page.type("#completion", "<b>2</b>");
  await press("details:has([name='spec.completion']) button");
  await page.waitForSelector("#scores + .table", patience);
  assert.match(await text("#scores + .table tbody"), /empty\s*ok\s*length 0, right 0.*the given one\s*ok\s*length 8, right 0/s);
});

scenario("the engine loads a downloaded adapter", async () => {
  const members = (await lab.api("GET", `/runs/${run}/members`)).items;
  await go(`/runs/${run}/members/${members[0].id}`);
  const address = await page.$eval('a[href*="adapter.zip"]', (link) => link.href);
  const zip = await page.evaluate(async (from) => [...new Uint8Array(await (await fetch(from)).arrayBuffer())], address);
  const folder = join(lab.data, "..", "adapter");
  mkdirSync(folder);
  writeFileSync(`${folder}.zip`, Buffer.from(zip));
  await execute("python3", ["-m", "zipfile", "-e", `${folder}.zip`, folder]);
  const { stdout: inside } = await execute("find", [folder, "-name", "adapter_config.json", "-printf", "%h"]);
  writeFileSync(`${folder}.jsonl`, '{"id": "a", "prompt": "<pi>", "adapter": 0, "n": 1, "max_tokens": 4, "seed": 1}\n');
  const model = join(process.env.LYCEUM_MODELS ?? join(repository, "models"), "seedling");
  await execute(workerProgram, ["rollout", "--model", model, "--adapter", inside, "--in", `${folder}.jsonl`, "--out", `${folder}.out`]);
  assert.equal(JSON.parse(readFileSync(`${folder}.out`, "utf8")).completions.length, 1);
});

scenario("a run whose critic decides what joins shows its growing set", async () => {
  const rows = Array.from({ length: 8 }, (_, row) => ({ task_id: `sum/${row}`, question: `what is ${row} + 1 ?`, oracle: { type: "math", gold: `${row + 1}` } }));
  const dataset = await lab.api("POST", "/datasets", { name: "sums", purpose: "training", rows });
  const overrides = {
    steps: 2, "populations.main.base_model.name": "seedling", "parameters.dataset": { id: dataset.id }, "parameters.challenges": 4,
    "scheduling.priority": 50, "parameters.tasks": 4, "parameters.difficulty_samples": 2, "parameters.learning.optimizer.minibatches": 1,
    benchmarks: { suites: ["held-out-outputs"], every: 1, rows: 5 },
  };
  const made = await lab.api("POST", "/runs", { preset: "sage-seedling-math", name: "sage", overrides });
  await go(`/runs/${made.id}/curriculum`);
  assert.deepEqual((await json(`/runs/${made.id}/curriculum`)).growth.items, []);
  await page.waitForSelector("#growth [data-drawn]", patience);
  await page.waitForFunction(() => document.querySelector("#state")?.textContent.includes("completed"), patience);
  page.faults.length = 0;
  await go(`/runs/${made.id}/curriculum`);
  await page.waitForSelector("#growth [data-drawn]", patience);
  await page.waitForSelector("#admission [data-drawn]", patience);
  const [head, ...lines] = await savedRows("#growth");
  assert.match(head, /^"steps done","tasks in the set"/);
  assert.deepEqual(lines.map((line) => line.split(",")[1]), ["8", "8"], "the seeds");
  assert.match((await savedRows("#admission"))[1], /^"?not scored"?,/);
  // The base of the tests was not trained for this, so it poses nothing that can be read.
  const { scores } = await json(`/runs/${made.id}/curriculum`);
  assert.deepEqual([scores.problems, ...new Set(scores.items.map((bucket) => bucket.admitted))], [8, 0]);
  assert.deepEqual(page.faults, []);
});

scenario("a run that works towards goalposts shows its candidates, and who solved which goalpost when", async () => {
  const functions = (name, shifts) => ({
    name, rows: shifts.map((shift) => ({
      type: "code_f", task_id: `${name}/${shift}`, program: `def f(a):\n return a+${shift}`, message: "adds a number",
      pairs: [0, 1, 2, 3].map((at) => [`${at}`, `${at + shift}`]),
    })),
  });
  await lab.api("POST", "/datasets", { ...functions("hard", [1, 2, 3]), purpose: "goalposts" });
  // This base was not trained for this, so it poses nothing that can be read.
  const overrides = {
    "populations.main.base_model.name": "seedling", "parameters.iterations": 1, "parameters.goalposts.name": "hard", "parameters.rounds": { target: 2, candidates: 8, max: 1 },
    "parameters.trials": 4, "parameters.solve.samples": 2, "scheduling.priority": 50, benchmarks: null,
  };
  const made = await lab.api("POST", "/runs", { preset: "gasp-seedling", name: "gasp", overrides });
  await go(`/runs/${made.id}/candidates`);
  await page.waitForFunction(() => document.querySelector("#state")?.textContent.includes("completed"), patience);
  page.faults.length = 0;
  await go(`/runs/${made.id}/candidates?step=0`);
  const { items, steps: [first] } = await json(`/runs/${made.id}/candidates?step=0`);
  assert.deepEqual(items.map((item) => item.outcome), Array(8).fill("invalid"));
  assert.deepEqual([first.step, first.relation, first.candidates], [0, "goalpost", 8]);
  await go(`/runs/${made.id}/goalposts`);
  assert.match(await text("#view"), /lyceum evaluation goalposts/);
  const spec = { type: "goalposts", runs: [{ run: made.id, every: 3 }], n: 4 };
  const evaluation = await lab.api("POST", "/evaluations", { spec, priority: 50 });
  await go(`/evaluations/${evaluation.id}`);
  await page.waitForSelector('#head [data-state="completed"]', patience);
  await go(`/runs/${made.id}/goalposts`);
  await page.waitForSelector("#solved-so-far [data-drawn]", patience);
  const [head, ...lines] = await savedRows("#solved-so-far");
  assert.match(head, /base, as many attempts as/);
  assert.deepEqual(lines.map((line) => line.split(",")[0]), ["0", "3"], "the checkpoints");
  assert.deepEqual(page.faults, []);
});

/** Calls `visit` with every page in a window for each of `ways`, all windows at once. */
const inWindows = (ways, visit) => Promise.all(ways.map(async (way) => {
  const window = await browser.open();
  await logIn(window, lab);
  for (const path of await everyPage()) await visit(window, way, path);
  assert.deepEqual(window.faults, []);
  await window.close();
}));

scenario("axe finds no violations on any page, in light and dark", async () => {
  await nothingIsMeasured();
  await inWindows(["light", "dark"], async (window, theme, path) => {
    await window.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    const answer = await window.goto(lab.base + path, { waitUntil: "load" });
    assert.equal(answer.status(), 200, path);
    await window.evaluate(axe);
    const { violations } = await window.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const said = violations.map((one) => `${one.id}: ${one.help}\n  ${one.nodes.map((node) => node.html.slice(0, 160)).join("\n  ")}`);
    assert.deepEqual(said, [], `${path} in ${theme}`);
  });
});

scenario("no page is wider than a narrow screen or logs an error", () => inWindows([360, 3840], async (window, width, path) => {
  await window.setViewport({ width, height: 900 });
  await window.goto(lab.base + path, { waitUntil: "load" });
  const over = await window.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(over <= 0, `${path} is ${over} pixels wider than a screen of ${width}`);
}));

scenario("the keyboard reaches all controls in order", async () => {
  for (const path of await everyPage()) {
    await go(path);
    const wanted = await page.evaluate(() => {
      const all = [...document.querySelectorAll("a[href], button:not([disabled]), input:not([type=hidden]), select, textarea, summary, [tabindex='0']")];
      const seen = all.filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest("details:not([open]) > :not(summary)"));
      seen.forEach((one, index) => (one.dataset.wanted = String(index)));
      return seen.length;
    });
    const reached = [];
    for (let presses = 0; presses < 2 * wanted + 20 && reached.length < wanted; presses += 1) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const focused = document.activeElement;
        const style = focused && getComputedStyle(focused);
        const isShown = style && style.outlineStyle !== "none";
        return { wanted: focused?.dataset?.wanted, isShown, html: focused?.outerHTML.slice(0, 120) };
      });
      if (at.wanted === undefined) continue;
      assert.ok(at.isShown, `${path}: no visible focus: ${at.html}`);
      const place = Number(at.wanted);
      if (reached.at(-1) !== place) reached.push(place);
    }
    assert.deepEqual(reached, [...Array(wanted).keys()], `${path}: controls missed or out of order`);
    // Every chart has a table for screen readers, which opens with a key.
    const mute = await page.$$eval("figure:has([role=img])", (figures) =>
      figures.filter((figure) => !figure.querySelector("details > summary")).map((figure) => figure.outerHTML.slice(0, 200)),
    );
    assert.deepEqual(mute, [], `${path} has charts without a table`);
  }
  await go(`/runs/${run}/metrics`);
  await page.focus('[data-chart="entropy"] summary');
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll('[data-chart="entropy"] tbody tr').length > 0, patience);
  await go("/");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => location.hash), "#main", "the first stop is the skip link");
});

/** Has `watched` add up in `window.moved` how far its pages move by themselves. */
const watchMoves = (watched) => watched.evaluateOnNewDocument(() => {
  window.moved = { value: 0, nodes: [] };
  new PerformanceObserver((list) => list.getEntries().filter((one) => !one.hadRecentInput).forEach((one) => {
    window.moved.value += one.value;
    window.moved.nodes.push(`${one.value.toFixed(4)}: ${one.sources.map(({ node, previousRect, currentRect }) => `${previousRect.y}→${currentRect.y} ${(node?.outerHTML ?? node?.textContent ?? "").slice(0, 80)}`).join(" | ")}`);
  })).observe({ type: "layout-shift", buffered: true });
});

scenario("no layout shift while a page loads", async () => {
  await Promise.all([360, 1280].map(async (width) => {
    const watched = await browser.open();
    await watchMoves(watched);
    await watched.evaluateOnNewDocument(() => {
      // Ages on the page grow by most of a minute between the response and the script that keeps them current.
      const now = Date.now;
      Date.now = () => now() + 50_000;
    });
    await logIn(watched, lab);
    await watched.setViewport({ width, height: 900 });
    for (const path of await everyPage()) {
      await watched.goto(lab.base + path, { waitUntil: "load" });
      await watched.waitForFunction(() => [...document.querySelectorAll(".canvas")].every((one) => !one.checkVisibility() || one.dataset.drawn || one.getBoundingClientRect().top > innerHeight + 400), patience);
      const moved = await watched.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(window.moved)))));
      // Up to 0.1 counts as good (web.dev/cls).
      assert.ok(moved.value < 0.01, `${path} at ${width} pixels shifts by ${moved.value}: ${moved.nodes.join("; ")}`);
    }
    await watched.close();
  }));
});

scenario("without JavaScript everything is readable, curves as tables", async () => {
  const plain = await browser.open();
  await plain.setJavaScriptEnabled(false);
  await logIn(plain, lab);
  for (const path of await everyPage()) {
    const answer = await plain.goto(lab.base + path);
    assert.equal(answer.status(), 200, path);
    const { words, canvases } = await plain.$eval("main", (main) => ({
      words: main.innerText.split(/\s+/).length,
      canvases: [...main.querySelectorAll(".canvas")].filter((one) => one.checkVisibility()).length,
    }));
    assert.ok(words > 3, path);
    assert.equal(canvases, 0, `${path} leaves space for charts that are not drawn`);
    const dead = await plain.$$eval("form[data-action], button[data-action], [data-edit]", (all) => all.filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 120)));
    assert.deepEqual(dead, [], `${path} offers controls that need JavaScript`);
  }
  await plain.goto(`${lab.base}/runs/${run}/metrics`);
  const rows = await plain.$$eval('[data-chart="solve-rate"] tbody tr', (all) => all.filter((row) => row.checkVisibility()).length);
  assert.ok(rows > 0, "the table of a chart is not shown");
  await plain.goto(`${lab.base}/runs/${run}`);
  assert.match(await plain.$eval("main", (main) => main.innerText), /JavaScript is off[^]*curl -X POST .*\/cancel/);
  assert.deepEqual(plain.faults, []);
});

scenario("hostile text stays text", async () => {
  const harm =
    "</script><script>window.harmed = 1</script><img src=x onerror=\"window.harmed = 2\"><svg onload=\"window.harmed = 3\">" +
    "<style>main{display:none}</style>{{7*7}} \u001b[31mred\u001b[0m \u202etxt.exe\u202c javascript:alert(1) ]]> &amp; '\"`";
  const quoted = `'${harm.replaceAll("'", "''")}'`;
  await sql(lab, `
    UPDATE problems SET prompt = ${quoted}, proposal = ${quoted} || repeat('x', 1000000), program = ${quoted}, reason = ${quoted},
      "values" = json_build_object('input', ${quoted}::text, 'output', ${quoted}::text) WHERE run_id = '${run}';
    UPDATE attempts SET text = ${quoted} || repeat('y', 1000000), answer = ${quoted} WHERE id IN (SELECT id FROM attempts WHERE run_id = '${run}' ORDER BY seq DESC LIMIT 50);
    UPDATE benchmark_samples SET text = ${quoted}, solution = ${quoted}, reason = ${quoted}, task_id = left(${quoted}, 400);
    UPDATE benchmark_results SET name = left(${quoted}, 60) || subject;
    UPDATE members SET name = left(${quoted}, 60) || substr(id::text, 30) WHERE run_id = '${run}';
    UPDATE work SET errors = jsonb_build_array(jsonb_build_object('attempt', 1, 'at', 'now', 'kind', 'error', 'message', ${quoted}::text)) WHERE execution_id = '${run}';
  `);
  await lab.api("PATCH", `/runs/${run}`, { name: harm.slice(0, 180), note: harm, tags: [harm.slice(0, 60)] });
  await lab.api("POST", "/experiments", { name: harm.slice(0, 190), description: harm });
  page.faults.length = 0;
  for (const path of await everyPage()) {
    const answer = await go(path);
    assert.equal(answer.status(), 200, path);
    const policy = answer.headers()["content-security-policy"];
    assert.ok(policy.includes("script-src 'self'") && !policy.includes("unsafe"), policy);
    const state = await page.evaluate(() => ({
      harmed: window.harmed ?? null,
      shown: document.querySelector("main").checkVisibility(),
      inline: document.querySelectorAll("main script:not([src]):not([type='application/json']), main [onerror], main [onload], main style, main img[src=x]").length,
    }));
    assert.deepEqual(state, { harmed: null, shown: true, inline: 0 }, path);
  }
  assert.deepEqual(page.faults, []);
  // The policy works on its own too: injected scripts would still not run.
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.harmed = 4";
    document.body.append(script);
    const button = document.createElement("button");
    button.setAttribute("onclick", "window.harmed = 5");
    document.body.append(button);
    button.click();
    return window.harmed;
  });
  assert.equal(ran, undefined);
});

scenario("the API's documentation works within the page's policy", async () => {
  page.faults.length = 0;
  await go("/docs/");
  await page.waitForSelector("#operations-tag-runs, .opblock-tag", patience);
  assert.deepEqual(page.faults, []);
});

scenario("missing pages say so and offer links", async () => {
  const nothing = "00000000-0000-4000-8000-000000000000";
  for (const [path, status] of [
    ["/nowhere", 404], [`/runs/${nothing}`, 404], ["/runs/not-an-id", 404], ["/runs?state=bogus", 400], ["/runs?cursor=x", 400],
    [`/work/${nothing}`, 404], [`/experiments/${nothing}`, 404], ["/runs/new?preset=bogus", 400],
  ]) {
    const answer = await go(path);
    assert.equal(answer.status(), status, path);
    assert.ok(await page.$("main nav a"), `${path} has no links`);
  }
});

scenario("logging out ends the session", async () => {
  await go("/");
  await press('form[action="/logout"] button');
  assert.match(page.url(), /\/login(\?|$)/);
  await go(`/runs/${run}`);
  assert.match(page.url(), /\/login(\?|$)/);
});
