// Data that the page came with: JSON in `<script type="application/json" id="…">`, which no browser runs.

/** The data called `id` of `page`; its template says what it is. */
export function island<T>(id = "data", page: Document = document): T {
  const element = page.getElementById(id);
  if (!element) throw new Error(`the page has no data called ${id}`);
  return JSON.parse(element.textContent ?? "null");
}
