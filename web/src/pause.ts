/** Calls `act` at most every `pause` milliseconds: at once, or when the pause is over. */
export function atMostEvery(pause: number, act: () => void): () => void {
  let last = -Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    if (timer !== undefined) return;
    const wait = Math.max(0, last + pause - performance.now());
    timer = setTimeout(() => {
      timer = undefined;
      last = performance.now();
      act();
    }, wait);
  };
}
