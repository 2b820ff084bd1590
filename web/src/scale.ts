// The ends and ticks of an axis of numbers.
import { grouped } from "./format";

/** An axis has one interval less than ticks. */
const mostIntervals = 5;
/** An axis is at least this part of its largest number long: noise on a steady value would look like a trend. */
const leastSpan = 0.05;

export interface Scale {
  min: number;
  max: number;
  interval: number;
}

/** The smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `size`. */
function roundUp(size: number): number {
  const power = 10 ** Math.floor(Math.log10(size));
  return exact(([1, 2, 2.5, 5].find((times) => times * power >= size * (1 - 1e-9)) ?? 10) * power);
}

/** Without the rounding errors of arithmetic on fractions. */
const exact = (value: number): number => Number(value.toPrecision(12));

/** The axis that shows all `values`, with at most six ticks. */
export function scaleOf(values: number[]): Scale {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > high) [low, high] = [0, 1];
  const lacking = (leastSpan * Math.max(Math.abs(low), Math.abs(high)) || 1) - (high - low);
  if (lacking > 0) {
    const isPositive = low >= 0;
    [low, high] = [low - lacking / 2, high + lacking / 2];
    if (isPositive && low < 0) [low, high] = [0, high - low];
  }
  for (let interval = roundUp((high - low) / mostIntervals); ; interval = roundUp(interval * 1.1)) {
    const [first, last] = [Math.floor(low / interval + 1e-9), Math.ceil(high / interval - 1e-9)];
    if (last - first <= mostIntervals) return { min: exact(first * interval), max: exact(last * interval), interval };
  }
}

/** At most six round numbers from `low` to `high`; whole ones if `isWhole`. */
export function ticksWithin(low: number, high: number, isWhole = false): number[] {
  let interval = high > low ? roundUp((high - low) / mostIntervals) : 1;
  while (isWhole && !Number.isInteger(interval)) interval = roundUp(interval * 1.1);
  const first = Math.ceil(low / interval - 1e-9);
  const count = Math.floor(high / interval + 1e-9) - first + 1;
  return Array.from({ length: Math.min(Math.max(0, count), mostIntervals + 1) }, (_, at) => exact((first + at) * interval));
}

/** A tick's text, with the digits that tell it from its neighbours. */
export function tickText(value: number, interval: number): string {
  if (value === 0) return "0";
  if (interval < 1e-4 || Math.abs(value) >= 1e7) return value.toExponential().replace("e+", "e");
  const digits = Math.max(0, (String(interval).split(".")[1] ?? "").length);
  return grouped(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
