// Fetches the current version of this page.
import { morph } from "./morph";

const parsed = (text: string) => new DOMParser().parseFromString(text, "text/html");

/** The page at `address`; undefined if it cannot be loaded or the user has logged out. */
export async function pageAt(address: string, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Document | undefined> {
  const response = await fetch(address, { headers: { accept: "text/html", ...headers }, signal: signal ?? null });
  if (!response.ok || response.redirected) return undefined;
  return parsed(await response.text());
}

/** Lines of the last response and its ETag. */
let last: { tag: string; lines: string[] } | undefined;

/** A piece of a page: a range of lines of the last response (first, count), or new text. */
type Piece = [number, number] | string;

/** The current page; only differences are transferred (RFC 3229, see `server/src/pages/delta.rs`). */
export async function newestPage(headers: Record<string, string> = {}): Promise<Document | undefined> {
  const known = last;
  const response = await fetch(location.href, {
    headers: { accept: "text/html", "a-im": "lines", ...(known && { "if-none-match": known.tag }), ...headers },
  });
  if (!response.ok || response.redirected) return undefined;
  const text = response.status === 226 && known ? together(await response.json(), known.lines) : await response.text();
  const tag = response.headers.get("etag");
  last = tag ? { tag, lines: text.split("\n") } : undefined;
  return parsed(text);
}

const together = (pieces: Piece[], lines: string[]): string =>
  pieces.map((piece) => (typeof piece === "string" ? piece : lines.slice(piece[0], piece[0] + piece[1]).join("\n"))).join("\n");

/** Replaces the content of the element `id` with `part`, a separately rendered piece of a page. */
export function takePart(part: Document, id: string): void {
  const old = document.getElementById(id);
  if (!old) return;
  const now = old.cloneNode(false) as Element;
  now.append(...part.body.childNodes);
  morph(old, now);
}

/** Updates the elements `ids` from `page`. */
export function take(page: Document, ...ids: string[]): void {
  for (const id of ids) {
    const old = document.getElementById(id);
    const now = page.getElementById(id);
    if (old && now) morph(old, now);
  }
}
