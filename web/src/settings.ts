// How the curves of a page are drawn: what its form `#curves` says. Pages without the form draw them as they are.

export interface Settings {
  /** Weight of what was before, from 0 to 1. */
  smoothing: number;
  log: boolean;
  /** Whether each member has a line. */
  members: boolean;
  /** The first and the last step that are shown; all where they are missing. */
  from: number | undefined;
  to: number | undefined;
}

export const settings: Settings = { smoothing: 0, log: false, members: true, from: undefined, to: undefined };

let changed: () => void = () => undefined;
const field = <T extends HTMLElement>(id: string): T | null => document.querySelector<T>(`#curves #${id}`);

/** Shows the steps `from` to `to`, and says so in the form. */
export function showRange(from: number | undefined, to: number | undefined): void {
  settings.from = from;
  settings.to = to;
  for (const [id, step] of [["from", from], ["to", to]] as const) {
    const input = field<HTMLInputElement>(id);
    if (input) input.value = step === undefined ? "" : String(step);
  }
  changed();
}

/** What the form says now. A browser that came back to the page may have filled it in by itself. */
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

/** Reads the form, and calls `listener` whenever it, or `showRange`, has changed what is shown. */
export function startSettings(listener: () => void): void {
  changed = listener;
  const form = document.querySelector<HTMLFormElement>("#curves");
  read();
  form?.addEventListener("input", () => {
    read();
    changed();
  });
  form?.addEventListener("submit", (event) => event.preventDefault());
}
