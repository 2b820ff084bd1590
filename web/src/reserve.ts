// Keeps parts of a live page as tall as they once were, so that what is below them does not move when rows come and go.
// Such a part has the attribute `data-reserve`.

const tallest = new Map<string, number>();
let width = innerWidth;

/** Notes how tall the parts are now and gives them at least the greatest height so far. */
export function reserve(): void {
  // Lines break elsewhere on another width.
  if (width !== innerWidth) {
    tallest.clear();
    width = innerWidth;
  }
  for (const part of document.querySelectorAll<HTMLElement>("[data-reserve]")) {
    part.style.minHeight = "";
    const height = Math.max(tallest.get(part.id) ?? 0, part.offsetHeight);
    tallest.set(part.id, height);
    part.style.minHeight = `${height}px`;
  }
}
