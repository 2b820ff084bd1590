// Axes: for values of any size, at most six ticks with distinct texts, between which all values lie.
import assert from "node:assert/strict";
import { test } from "node:test";
import { module } from "./module.mjs";

const { scaleOf, tickText, ticksWithin } = await module("scale.ts");

const ticks = ({ min, max, interval }) => Array.from({ length: Math.round((max - min) / interval) + 1 }, (_, at) => Number((min + at * interval).toPrecision(12)));

test("an axis of values has two to six distinct ticks around all values", () => {
  for (let draw = 0; draw < 20_000; draw += 1) {
    // The fractional parts of multiples of irrational numbers are spread evenly and come again the same.
    const [one, other, size] = [(draw * Math.SQRT2) % 1, (draw * Math.sqrt(3)) % 1, 10 ** (((draw * Math.sqrt(5)) % 1) * 14 - 8)];
    const values = [one - 0.5, one + (other * other) / 50, one].map((value) => value * size);
    const scale = scaleOf(values);
    const shown = ticks(scale);
    assert.ok(shown.length >= 2 && shown.length <= 6, `${values}: ${shown}`);
    assert.equal(new Set(shown.map((tick) => tickText(tick, scale.interval))).size, shown.length, `${values}: ${shown}`);
    assert.ok(shown[0] <= Math.min(...values) + 1e-6 * size, `${values}: ${shown}`);
    assert.ok(shown.at(-1) >= Math.max(...values) - 1e-6 * size, `${values}: ${shown}`);
  }
});

test("noise on a steady value does not fill an axis", () => {
  const { min, max } = scaleOf([13.63, 13.7]);
  assert.ok(max - min >= 0.05 * 13.7, `${min} to ${max}`);
});

test("an axis of what is never negative has no negative ticks", () => {
  for (const values of [[0], [0, 0.001], [1e-9], [0, 4], []]) assert.ok(scaleOf(values).min >= 0, String(values));
});

test("ticks within fixed ends are round and lie between them", () => {
  assert.deepEqual(ticksWithin(0, 99, true), [0, 20, 40, 60, 80]);
  assert.deepEqual(ticksWithin(10, 13, true), [10, 11, 12, 13]);
  assert.deepEqual(ticksWithin(0, 11, true), [0, 5, 10], "there is no half step");
  assert.deepEqual(ticksWithin(-1.02, -0.0055), [-1, -0.75, -0.5, -0.25]);
  assert.deepEqual(ticksWithin(7, 7, true), [7]);
});

test("ticks have the digits that tell them apart", () => {
  assert.deepEqual([0, 0.25, 0.5].map((tick) => tickText(tick, 0.25)), ["0", "0.25", "0.50"]);
  assert.deepEqual([0, 5e-7, 1e-6].map((tick) => tickText(tick, 5e-7)), ["0", "5e-7", "1e-6"]);
  assert.deepEqual([1000, 1200].map((tick) => tickText(tick, 200)), ["1\u202f000", "1\u202f200"]);
});
