// Data that the page came with: JSON in `<script type="application/json" id="…">`, which no browser runs.

/** The data called `id`; the page's template says what it is. */
export function island<T>(id = "data"): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no data called ${id}`);
  return JSON.parse(element.textContent ?? "null");
}
