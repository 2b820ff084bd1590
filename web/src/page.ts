// Fetches the current version of this page.
import { morph } from "./morph";
import { reserve } from "./reserve";

const parsed = (text: string) => new DOMParser().parseFromString(text, "text/html");

/** The page at `address`; undefined if it cannot be loaded or the user has logged out. */
export async function pageAt(address: string, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Document | undefined> {
  const response = await fetch(address, { headers: { accept: "text/html", ...headers }, signal: signal ?? null });
  if (!response.ok || response.redirected) return undefined;
  return parsed(await response.text());
}

/** Replaces the content of the element `id` with `part`, a separately rendered piece of a page. */
export function takePart(part: Document, id: string): void {
  const old = document.getElementById(id);
  if (!old) return;
  const now = old.cloneNode(false) as Element;
  now.append(...part.body.childNodes);
  reserve();
  morph(old, now);
  reserve();
}

/** Updates the elements `ids` from `page`. */
export function take(page: Document, ...ids: string[]): void {
  reserve();
  for (const id of ids) {
    const old = document.getElementById(id);
    const now = page.getElementById(id);
    if (old && now) morph(old, now);
  }
  reserve();
}
