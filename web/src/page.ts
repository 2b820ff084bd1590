// This page as the server would send it now.
import { morph } from "./morph";

/** The page at `address`; none where it is not to be had, or where somebody logged out meanwhile. */
export async function pageAt(address: string, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Document | undefined> {
  const response = await fetch(address, { headers: { accept: "text/html", ...headers }, signal: signal ?? null });
  if (!response.ok || response.redirected) return undefined;
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

/** Makes what is in the element called `id` what `part` is: a piece of a page that stands alone. */
export function takePart(part: Document, id: string): void {
  const old = document.getElementById(id);
  if (!old) return;
  const now = old.cloneNode(false) as Element;
  now.append(...part.body.childNodes);
  morph(old, now);
}

/** Makes the elements called `ids` what they are on `page`. */
export function take(page: Document, ...ids: string[]): void {
  for (const id of ids) {
    const old = document.getElementById(id);
    const now = page.getElementById(id);
    if (old && now) morph(old, now);
  }
}
