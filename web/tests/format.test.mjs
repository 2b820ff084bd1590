// Charts show values as pages do: the server is held to the same cases.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { module } from "./module.mjs";

const { bytes, duration, measure } = await module("format.ts");
const formats = { bytes, duration, share: (value) => measure(value, "share"), value: measure };

test("numbers read the same in charts and on pages", () => {
  const cases = JSON.parse(readFileSync(new URL("formats.json", import.meta.url), "utf8"));
  for (const [format, number, text] of cases) assert.equal(formats[format](number), text, `${number} as ${format}`);
});

test("what is not finite, or was not measured, is a dash", () => {
  assert.deepEqual([NaN, Infinity, null, undefined].map((value) => measure(value, "share")), Array(4).fill("–"));
});
