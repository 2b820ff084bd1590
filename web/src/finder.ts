// `Ctrl-K` or `⌘K`: a dialog that leads to any run, member, problem, page or action. What fits is suggested by the server.
import { get } from "./api";
import { element } from "./element";
import { listKey } from "./keys";
import { say } from "./say";

interface Suggestion {
  kind: string;
  id: string | null;
  name: string;
  of: string;
  address: string;
}

const dialog = document.querySelector<HTMLDialogElement>("#finder");
const input = dialog?.querySelector("input");
const list = dialog?.querySelector<HTMLElement>("[role=listbox]");
const count = dialog?.querySelector<HTMLElement>("[role=status]");
const theme = document.querySelector<HTMLButtonElement>("#theme");

/** What the browser itself can do. */
const own: (Suggestion & { act: () => void })[] = [
  { kind: "action", id: null, name: "Change theme", of: "", address: "", act: () => theme?.click() },
];

let asked = new AbortController();

const options = () => [...(list?.querySelectorAll<HTMLElement>("[role=option]") ?? [])];
const chosen = () => options().find((option) => option.ariaSelected === "true");

function choose(option: HTMLElement | undefined): void {
  for (const one of options()) one.ariaSelected = String(one === option);
  if (option) input?.setAttribute("aria-activedescendant", option.id);
  else input?.removeAttribute("aria-activedescendant");
  option?.scrollIntoView({ block: "nearest" });
}

function optionOf(found: Suggestion, place: number): HTMLElement {
  const option = element("li", "");
  option.role = "option";
  option.id = `found-${place}`;
  option.dataset.address = found.address;
  const name = element("span", found.name, "hostile");
  if (found.of) name.append(element("small", ` ${found.of}`, "muted"));
  // Problems and evaluations of a type differ by their ids.
  if (found.kind === "problem" || found.kind === "evaluation") name.append(element("small", ` ${found.id ?? ""}`, "muted mono"));
  option.append(name, element("span", found.kind, "muted small"));
  return option;
}

async function suggest(): Promise<void> {
  if (!input || !list || !count) return;
  asked.abort();
  asked = new AbortController();
  const { signal } = asked;
  const text = input.value.trim();
  try {
    const { items } = await get<{ items: Suggestion[] }>(`/api/v1/search?q=${encodeURIComponent(text)}`, signal);
    const fitting = own.filter((one) => one.name.toLowerCase().includes(text.toLowerCase()));
    const all = [...items, ...fitting];
    list.replaceChildren(...all.map(optionOf));
    input.ariaExpanded = String(all.length > 0);
    count.textContent = all.length === 0 ? "Nothing has this in its name or id." : `${all.length} found`;
    choose(options()[0]);
  } catch (error) {
    if (!signal.aborted) say(error instanceof Error ? error.message : "The server does not respond.", true);
  }
}

function open(option: HTMLElement | undefined, inNewTab: boolean): void {
  const address = option?.dataset.address;
  if (address === undefined) return;
  dialog?.close();
  if (address === "") own.find((one) => option?.textContent?.startsWith(one.name))?.act();
  else if (inNewTab) window.open(address, "_blank", "noopener");
  else location.assign(address);
}

function move(event: KeyboardEvent): void {
  const all = options();
  const at = all.findIndex((option) => option === chosen());
  const to: Record<string, number> = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length };
  if (event.key === "Enter") {
    event.preventDefault();
    open(chosen(), event.ctrlKey || event.metaKey);
  } else if (event.key in to) {
    event.preventDefault();
    choose(all[to[event.key] ?? 0]);
  }
}

function show(): void {
  if (!dialog || !input || dialog.open) return;
  dialog.showModal();
  input.select();
  void suggest();
}

/** Opens the dialog by its keys and the header's button. */
export function startFinder(): void {
  // A page that shows an error, or only what is shared, has none.
  if (!dialog || !input) return;
  listKey("Ctrl K, ⌘ K", "Find a run, member, problem, page or action");
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    show();
  });
  document.querySelector("#find")?.addEventListener("click", show);
  input.addEventListener("input", () => void suggest());
  input.addEventListener("keydown", move);
  list?.addEventListener("click", (event) => {
    const option = event.target instanceof Element ? event.target.closest<HTMLElement>("[role=option]") : null;
    if (option) open(option, event.ctrlKey || event.metaKey);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
}
