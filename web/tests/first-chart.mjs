// Measures the time from the start of navigation to the first chart of a run's page, with an empty cache:
//
//     LYCEUM_TOKEN=… node tests/first-chart.mjs http://127.0.0.1:7777/runs/ID [TIMES]
//
// Charts record the moment (`lyceum:first-chart`, web/src/chart.ts). The limit is 1 s.
import { logIn, missing, startBrowser } from "./lab.mjs";

const limit = 1000;
const [address, times = "20"] = process.argv.slice(2);
const token = process.env.LYCEUM_TOKEN;
const lack = missing({ programs: false });
if (!address || !token || lack) {
  console.error(lack ?? "usage: LYCEUM_TOKEN=… node tests/first-chart.mjs URL [TIMES]");
  process.exit(2);
}

const browser = await startBrowser();
const taken = { "first chart": [], "answer's first byte": [], "answer's end": [], scripts: [] };
try {
  const page = await browser.open();
  await logIn(page, { base: new URL(address).origin, token });
  await page.setCacheEnabled(false);
  for (let time = 0; time < Number(times); time += 1) {
    await page.goto(address, { waitUntil: "load" });
    await page.waitForFunction(() => performance.getEntriesByName("lyceum:first-chart").length > 0);
    const seen = await page.evaluate(() => {
      const [navigation] = performance.getEntriesByType("navigation");
      const scripts = performance.getEntriesByType("resource").filter((one) => one.name.endsWith(".js"));
      return {
        "first chart": performance.getEntriesByName("lyceum:first-chart")[0].startTime,
        "answer's first byte": navigation.responseStart,
        "answer's end": navigation.responseEnd,
        scripts: Math.max(...scripts.map((one) => one.responseEnd)),
      };
    });
    for (const [name, at] of Object.entries(seen)) taken[name].push(at);
  }
} finally {
  await browser.stop();
}

for (const [name, all] of Object.entries(taken)) {
  all.sort((one, other) => one - other);
  const at = (share) => all[Math.min(all.length - 1, Math.floor(share * all.length))].toFixed(0);
  console.log(`${name.padEnd(20)} median ${at(0.5).padStart(5)} ms, p95 ${at(0.95).padStart(5)} ms, most ${at(1).padStart(5)} ms`);
}
console.log(`${"limit".padEnd(20)} ${limit} ms`);
