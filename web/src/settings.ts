// Settings for drawing curves, from the form `#curves`. Pages without the form use the defaults.

export interface Settings {
  /** Smoothing weight of earlier values, from 0 to 1. */
  smoothing: number;
  log: boolean;
  /** Whether each member has a line. */
  members: boolean;
  /** The first and the last step shown; all steps if missing. */
  from: number | undefined;
  to: number | undefined;
}

export const settings: Settings = { smoothing: 0, log: false, members: true, from: undefined, to: undefined };

const listeners: (() => void)[] = [];
const changed = () => listeners.forEach((listener) => listener());
const field = <T extends HTMLElement>(id: string): T | null => document.querySelector<T>(`#curves #${id}`);

/** Shows the steps `from` to `to` and updates the form. */
export function showRange(from: number | undefined, to: number | undefined): void {
  settings.from = from;
  settings.to = to;
  for (const [id, step] of [["from", from], ["to", to]] as const) {
    const input = field<HTMLInputElement>(id);
    if (input) input.value = step === undefined ? "" : String(step);
  }
  toAddress();
  changed();
}

/** How the settings are written in the address, and read from there. The names are those of `server/src/frame/view.rs`. */
const inAddress: { name: string; id: string; read: (input: HTMLInputElement, text: string) => void; write: (input: HTMLInputElement) => string }[] = [
  { name: "smoothing", id: "smoothing", read: (input, text) => (input.value = text), write: (input) => (input.value === input.defaultValue ? "" : input.value) },
  { name: "log", id: "log", read: (input, text) => (input.checked = text === "1"), write: (input) => (input.checked ? "1" : "") },
  { name: "members", id: "shown-members", read: (input, text) => (input.checked = text !== "0"), write: (input) => (input.checked ? "" : "0") },
  { name: "from", id: "from", read: (input, text) => (input.value = text), write: (input) => input.value },
  { name: "to", id: "to", read: (input, text) => (input.value = text), write: (input) => input.value },
];

/** Sets the form to what the address says. */
function fromAddress(): void {
  const query = new URLSearchParams(location.search);
  for (const { name, id, read } of inAddress) {
    const [input, text] = [field<HTMLInputElement>(id), query.get(name)];
    if (input && text !== null) read(input, text);
  }
}

let kept: ReturnType<typeof setTimeout> | undefined;

/** Keeps the settings in the address, so that reloading or sharing it shows the same. */
function toAddress(): void {
  clearTimeout(kept);
  // Browsers refuse to change the address a hundred times a second, as a slider would.
  kept = setTimeout(() => {
    const query = new URLSearchParams(location.search);
    for (const { name, id, write } of inAddress) {
      const input = field<HTMLInputElement>(id);
      if (!input) continue;
      const text = write(input);
      if (text === "") query.delete(name);
      else query.set(name, text);
    }
    const rest = query.size > 0 ? `?${query}` : "";
    history.replaceState(history.state, "", `${location.pathname}${rest}${location.hash}`);
  }, 250);
}

/** The form's current values. Browsers may restore them when navigating back. */
function read(): void {
  const step = (id: string) => {
    const text = field<HTMLInputElement>(id)?.value ?? "";
    return text === "" ? undefined : Number(text);
  };
  settings.smoothing = Number(field<HTMLInputElement>("smoothing")?.value ?? 0);
  settings.log = field<HTMLInputElement>("log")?.checked ?? false;
  settings.members = field<HTMLInputElement>("shown-members")?.checked ?? true;
  const [from, to] = [step("from"), step("to")];
  // Steps typed the other way round mean the same.
  const isReversed = from !== undefined && to !== undefined && from > to;
  [settings.from, settings.to] = isReversed ? [to, from] : [from, to];
  const shown = field<HTMLOutputElement>("smoothing-value");
  if (shown) shown.value = settings.smoothing.toFixed(2);
}

/** Reads the form and calls `listener` whenever the form or `showRange` changes the settings. */
export function startSettings(listener: () => void): void {
  listeners.push(listener);
  if (listeners.length > 1) return;
  const form = document.querySelector<HTMLFormElement>("#curves");
  fromAddress();
  read();
  form?.addEventListener("input", () => {
    read();
    toAddress();
    changed();
  });
  form?.addEventListener("submit", (event) => event.preventDefault());
}
