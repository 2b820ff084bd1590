// Arithmetic on curves: points [step, value] ordered by step, null for missing values.

export type Point = [number, number | null];

/** Bias-corrected exponential moving average (as in TensorBoard); `weight` from 0 to 1. */
export function smooth(points: Point[], weight: number): Point[] {
  if (weight <= 0) return points;
  let sum = 0;
  let mass = 0;
  return points.map(([step, value]) => {
    if (value === null) return [step, null];
    sum = sum * weight + value * (1 - weight);
    mass = mass * weight + (1 - weight);
    return [step, sum / mass];
  });
}

/** Whether a curve counts something, so that smoothing would spread what happened in one step over others: whole numbers, or
 * their means over `width` steps. */
export function isCount(points: Point[], width: number): boolean {
  return points.every(([, value]) => value === null || Math.abs(value * width - Math.round(value * width)) < 1e-6);
}

/** The mean of `curves` at every step at which at least one has a value. */
export function mean(curves: Point[][]): Point[] {
  const sums = new Map<number, [number, number]>();
  for (const curve of curves) {
    for (const [step, value] of curve) {
      if (value === null) continue;
      const [sum, count] = sums.get(step) ?? [0, 0];
      sums.set(step, [sum + value, count + 1]);
    }
  }
  return [...sums].sort(([one], [other]) => one - other).map(([step, [sum, count]]) => [step, sum / count]);
}

/** Whether fewer than half of the steps have a value. */
export function isSparse(points: Point[]): boolean {
  return 2 * points.filter(([, value]) => value !== null).length < points.length;
}

/** At most `count` of `points`, evenly spaced, including the last one. */
export function evenly<T>(points: T[], count: number): T[] {
  const every = Math.max(1, Math.ceil(points.length / count));
  const skipped = Math.max(0, points.length - 1) % every;
  return points.filter((_, index) => index >= skipped && (index - skipped) % every === 0);
}
