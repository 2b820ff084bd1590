// Updates the document to the server's current version, touching only what differs: focus, scroll position, opened
// sections and input are kept.

const keyOf = (node: Node): string => (node instanceof Element ? node.id : "");

const alike = (old: Node, now: Node): boolean => old.nodeType === now.nodeType && old.nodeName === now.nodeName;

/** Attributes that the server does not decide: a fold stays open, and a part stays as tall as it was (`reserve.ts`). */
const kept = (old: Element, name: string): boolean =>
  (name === "open" && old.tagName === "DETAILS") || (name === "style" && old.hasAttribute("data-reserve"));

function copyAttributes(old: Element, now: Element): void {
  for (const { name } of [...old.attributes]) {
    if (!now.hasAttribute(name) && !kept(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of now.attributes) {
    if (old.getAttribute(name) !== value && !kept(old, name)) old.setAttribute(name, value);
  }
}

/** Rows in `now` replace all rows from the number in `data-grows` on; earlier ones stay. */
function grow(old: Element, now: Element): void {
  const headOf = (row: Element) => row.firstElementChild?.textContent ?? "";
  const from = Number(now.getAttribute("data-grows"));
  const heads = new Set([...now.children].map(headOf));
  for (const row of [...old.children]) {
    if (Number(headOf(row)) >= from && !heads.has(headOf(row))) row.remove();
  }
  const rows = new Map([...old.children].map((row) => [headOf(row), row]));
  for (const row of [...now.children]) {
    const before = rows.get(headOf(row));
    if (before) morph(before, row);
    else old.append(row);
  }
}

function morphChildren(old: Element, now: Element): void {
  const keyed = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
  let place: ChildNode | null = old.firstChild;
  for (const wanted of [...now.childNodes]) {
    const key = keyOf(wanted);
    const unkeyed: ChildNode | null = place && !keyOf(place) ? place : null;
    const match: ChildNode | null = key ? (keyed.get(key) ?? null) : unkeyed;
    if (!match || !alike(match, wanted)) {
      old.insertBefore(wanted, place);
      continue;
    }
    if (match === place) place = place.nextSibling;
    else old.insertBefore(match, place);
    if (match instanceof Element && wanted instanceof Element) morph(match, wanted);
    else if (match.nodeValue !== wanted.nodeValue) match.nodeValue = wanted.nodeValue;
  }
  while (place) {
    const next: ChildNode | null = place.nextSibling;
    place.remove();
    place = next;
  }
}

/** Turns `old` into `now`, except chart canvases, outputs, and the focused field. */
export function morph(old: Element, now: Element): void {
  if (old.isEqualNode(now) || old.matches(".canvas, output, dialog[open]")) return;
  if (old === document.activeElement && old.matches("input, select, textarea")) return;
  if (now.hasAttribute("data-grows")) {
    grow(old, now);
    return;
  }
  const focused = document.activeElement;
  copyAttributes(old, now);
  morphChildren(old, now);
  if (focused instanceof HTMLElement && focused !== document.activeElement && old.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
}
