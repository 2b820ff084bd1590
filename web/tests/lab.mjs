// A private Lyceum for the browser tests, and a browser.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import puppeteer from "puppeteer-core";

export const repository = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../..");
const target = process.env.CARGO_TARGET_DIR ?? join(repository, "target");
export const lyceum = process.env.LYCEUM ?? join(target, "debug/lyceum");
export const workerProgram = process.env.LYCEUM_WORKER ?? join(target, "debug/lyceum-worker");

/** Timeout in milliseconds for a page to load or an expected change, even on a slow machine. */
const patience = 240_000;

/** The path of the browser, if installed. */
export function chromium() {
  const named = ["chromium", "chromium-browser", "google-chrome"];
  return named.map((name) => spawnSync("which", [name], { encoding: "utf8" }).stdout.trim()).find((path) => path !== "");
}

/** Why the tests cannot run here; undefined if they can. `programs`: whether they start their own server. */
export function missing({ programs = true } = {}) {
  if (!chromium()) return "no Chromium on the PATH (script/bootstrap installs it)";
  if (!programs) return undefined;
  const absent = [lyceum, workerProgram].find((path) => !existsSync(path));
  return absent && `${absent} is not built (cargo build -p lyceum-server -p lyceum-worker)`;
}

/** The API of the server at `base`: sends and returns JSON. */
export function apiOf(base, token) {
  return async (method, path, body) => {
    const response = await fetch(`${base}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : response.json();
  };
}

/** Starts `lyceum up` with more options in a temporary folder. */
export async function startLab(...options) {
  const folder = mkdtempSync(join(tmpdir(), "lyceum-browser-"));
  // Postgres runs as another user, who must be able to enter this folder.
  chmodSync(folder, 0o711);
  const data = join(folder, "data");
  const child = spawn(lyceum, ["--data", data, "up", "--port", "0", "--worker", workerProgram, ...options], {
    cwd: repository,
    env: { LYCEUM_MODELS: join(repository, "models"), LYCEUM_PYTHON: join(repository, ".venv/bin/python"), ...process.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  const ready = new Promise((resolve, reject) => {
    const hear = (chunk) => {
      said = (said + chunk).slice(-100_000);
      const found = /Lyceum is ready at (\S+)/.exec(said);
      if (found) resolve(found[1]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => reject(new Error(`lyceum ended with ${code}:\n${said}`)));
  });
  const base = await ready;
  const token = readFileSync(join(data, "admin-token"), "utf8").trim();
  const stop = async () => {
    child.removeAllListeners("exit");
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  return { base, token, data, api: apiOf(base, token), stop, log: () => said };
}

/** A browser whose pages record their errors in `faults`. */
export async function startBrowser() {
  const browser = await puppeteer.launch({
    executablePath: chromium(),
    // Machines may be busy.
    timeout: patience,
    protocolTimeout: 2 * patience,
    // Tests may run as root, where Chromium's sandbox does not work; the pages are trusted.
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
  const open = async () => {
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    page.faults = [];
    page.on("pageerror", (error) => page.faults.push(`script: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") page.faults.push(`console: ${message.text()}`);
    });
    page.setDefaultTimeout(patience);
    await page.setViewport({ width: 1280, height: 900 });
    // Milliseconds that each request takes longer: shows where a test only passes because answers come at once.
    const latency = Number(process.env.BROWSER_LATENCY ?? 0);
    if (latency) await page.emulateNetworkConditions({ download: -1, upload: -1, latency });
    return page;
  };
  return { open, stop: () => browser.close() };
}

/** Logs in with the form. */
export async function logIn(page, lab) {
  await page.goto(`${lab.base}/login`);
  await page.type("#token", lab.token);
  await Promise.all([page.waitForNavigation(), page.click("button[type=submit]")]);
}

/** Runs SQL on the lab's private Postgres. */
export async function sql(lab, text) {
  const socket = join(lab.data, "postgres/socket");
  const folders = ["", ...spawnSync("sh", ["-c", "ls -d /usr/lib/postgresql/*/bin"], { encoding: "utf8" }).stdout.split("\n")];
  const psql = folders.map((folder) => join(folder, "psql")).find((path) => existsSync(path)) ?? "psql";
  // Must not block the event loop: connections closed by the server meanwhile would be mistaken for open ones.
  const child = spawn(psql, ["-h", socket, "-U", "lyceum", "-d", "lyceum", "-v", "ON_ERROR_STOP=1", "-Atq"], {
    stdio: ["pipe", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (chunk) => (said += chunk));
  child.stdin.end(text);
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(said);
}
