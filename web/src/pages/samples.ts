// The list of samples: `j` and `k` move through it, and the texts and the address follow without a reload.
import { pageAt, take } from "../page";
import { say } from "../say";

const links = (): HTMLAnchorElement[] => [...document.querySelectorAll<HTMLAnchorElement>("#list ol a")];

let asked: AbortController | undefined;

/** Shows the problem that `link` leads to. */
async function open(link: HTMLAnchorElement): Promise<void> {
  asked?.abort();
  asked = new AbortController();
  const address = link.href;
  const page = await pageAt(address, {}, asked.signal);
  if (!page) return location.assign(address);
  history.replaceState(history.state, "", address);
  take(page, "facets", "list", "text", "curl");
  const now = document.querySelector<HTMLAnchorElement>("#list [aria-current]");
  now?.scrollIntoView({ block: "nearest" });
  document.querySelector("#text")?.scrollTo({ top: 0 });
}

const show = (link: HTMLAnchorElement): void => {
  open(link).catch((error: unknown) => {
    if (!(error instanceof DOMException && error.name === "AbortError")) say("The server does not respond.", true);
  });
};

/** Moves by one problem, and past the end to the next part of the list. */
function move(by: 1 | -1): void {
  const all = links();
  const place = all.findIndex((link) => link.hasAttribute("aria-current"));
  const link = all[place + by];
  if (link) show(link);
  else if (by === 1) document.querySelector<HTMLAnchorElement>("#list a[rel=next]")?.click();
}

const isTyping = (target: EventTarget | null): boolean => target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  if (event.key === "j") move(1);
  if (event.key === "k") move(-1);
});

document.addEventListener("click", (event) => {
  if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("#list ol a") : null;
  if (!link) return;
  event.preventDefault();
  show(link);
});
