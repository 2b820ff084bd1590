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
  changed();
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
  [settings.from, settings.to] = [step("from"), step("to")];
  const shown = field<HTMLOutputElement>("smoothing-value");
  if (shown) shown.value = settings.smoothing.toFixed(2);
}

/** Reads the form and calls `listener` whenever the form or `showRange` changes the settings. */
export function startSettings(listener: () => void): void {
  listeners.push(listener);
  if (listeners.length > 1) return;
  const form = document.querySelector<HTMLFormElement>("#curves");
  read();
  form?.addEventListener("input", () => {
    read();
    changed();
  });
  form?.addEventListener("submit", (event) => event.preventDefault());
}
