// Keeps times such as "5 min ago" current.

const units: [number, string][] = [
  [86400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** How long ago, formatted like the server does. */
export function ago(then: Date, now = Date.now()): string {
  const seconds = Math.max(0, Math.floor((now - then.getTime()) / 1000));
  for (const [size, unit] of units) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  }
  return "now";
}

function refresh(): void {
  if (document.hidden) return;
  for (const time of document.querySelectorAll<HTMLTimeElement>("time[data-ago]")) {
    const text = ago(new Date(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

/** Updates every `<time data-ago>` of the page. */
export function startTimes(): void {
  refresh();
  setInterval(refresh, 10_000);
  document.addEventListener("visibilitychange", refresh);
}
