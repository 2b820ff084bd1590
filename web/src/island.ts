// Data embedded in the page: JSON in `<script type="application/json" id="…">`, which browsers do not execute.

/** The data island `id` of `page`; the template defines its type. */
export function island<T>(id = "data", page: Document = document): T {
  const element = page.getElementById(id);
  if (!element) throw new Error(`the page has no data called ${id}`);
  return JSON.parse(element.textContent ?? "null");
}
