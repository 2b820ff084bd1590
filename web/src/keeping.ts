// "Save or share this view" below a page: its address now, with what scripts have written into it, is saved or shared.
import { Problem, send } from "./api";
import { say } from "./say";

const here = (): string => location.pathname + location.search;

async function keep(form: HTMLFormElement): Promise<void> {
  const value = (name: string) => form.querySelector<HTMLInputElement>(`[name="${name}"]`)?.value.trim() ?? "";
  if (form.dataset.keep === "view") {
    const made = await send<{ name: string }>("POST", "/api/v1/views", { name: value("name"), address: here() });
    form.reset();
    say(`Saved as ${made.name}.`);
    return;
  }
  const made = await send<{ path: string }>("POST", "/api/v1/shares", { address: here(), days: Number(value("days")) });
  const shown = document.querySelector<HTMLElement>("#share-link");
  const line = document.querySelector<HTMLElement>("#share-made");
  if (shown) shown.textContent = location.origin + made.path;
  if (line) line.hidden = false;
}

export function startKeeping(): void {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || form.dataset.keep === undefined) return;
    event.preventDefault();
    keep(form).catch((error: unknown) => say(error instanceof Problem ? error.message : "The server does not respond.", true));
  });
}
