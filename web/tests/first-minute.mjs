// Takes a screenshot of what a newcomer sees every ten seconds of the first minute after following the demo's link, and
// puts them beside each other in one picture:
//
//     node tests/first-minute.mjs PICTURE.webp
//
// with `lyceum up --demo` in a new folder, of the programs that the browser tests use too (`$LYCEUM`, `$LYCEUM_WORKER`).
import { writeFileSync } from "node:fs";
import { missing, startBrowser, startLab } from "./lab.mjs";

const [picture] = process.argv.slice(2);
const lack = missing();
if (!picture || lack) {
  console.error(lack ?? "usage: node tests/first-minute.mjs PICTURE.webp");
  process.exit(2);
}

const every = 10;
const last = 60;
const size = { width: 1280, height: 900 };

const lab = await startLab("--demo");
const browser = await startBrowser();
try {
  const page = await browser.open();
  await page.setViewport(size);
  await page.goto(`${lab.base}/login#${lab.token}`);
  await page.waitForFunction(() => location.pathname !== "/login");
  const began = Date.now();
  const frames = [];
  for (let seconds = 0; seconds <= last; seconds += every) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, began + seconds * 1000 - Date.now())));
    const image = await page.screenshot({ type: "webp", quality: 80, encoding: "base64" });
    frames.push({ seconds: Math.round((Date.now() - began) / 1000), image });
    const verdict = await page.$$eval(".verdict li", (all) => all.map((one) => one.textContent.trim()).join(" "));
    console.log(`${frames.at(-1).seconds} s: ${verdict}`);
  }
  const sheet = await browser.open();
  const columns = 2;
  await sheet.setViewport({ width: columns * 800, height: 600 });
  await sheet.setContent("<style>body { margin: 0; font: 18px sans-serif; background: #ddd; display: grid; gap: 8px; padding: 8px; grid-template-columns: 1fr 1fr } figure { margin: 0 } img { width: 100%; display: block } figcaption { padding: 4px }</style>");
  await sheet.evaluate((all) => {
    for (const { seconds, image } of all) {
      const figure = document.createElement("figure");
      const caption = document.createElement("figcaption");
      caption.textContent = `after ${seconds} s`;
      const shown = document.createElement("img");
      shown.src = `data:image/webp;base64,${image}`;
      figure.append(caption, shown);
      document.body.append(figure);
    }
  }, frames);
  await sheet.waitForFunction(() => [...document.images].every((image) => image.complete));
  writeFileSync(picture, await sheet.screenshot({ type: "webp", quality: 60, fullPage: true }));
} finally {
  await browser.stop();
  await lab.stop();
}
