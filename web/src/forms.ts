// Forms sent as JSON: `data-action` is the address, `data-method` the method, `data-to` the page to open afterwards
// (`{id}` is the id of the created resource). Fields with `data-type="list"` are split at commas, `number` is a number,
// `time` a local time; a dot in a name leads into an object; empty fields with `data-optional` are omitted.
import { Problem, send } from "./api";
import { say } from "./say";

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

function valueOf(field: Field): unknown {
  switch (field.dataset.type) {
    case "list":
      return field.value.split(",").map((part) => part.trim()).filter((part) => part !== "");
    case "number":
      return field.value === "" ? null : Number(field.value);
    case "time":
      return new Date(field.value).toISOString();
    default:
      return field.value;
  }
}

function collect(form: HTMLFormElement): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const field of form.querySelectorAll<Field>("[name]")) {
    if (field.value === "" && field.dataset.optional !== undefined) continue;
    const path = field.name.split(".");
    const last = path.pop() ?? "";
    let inside = body;
    for (const name of path) inside = (inside[name] ??= {}) as Record<string, unknown>;
    inside[last] = valueOf(field);
  }
  return body;
}

/** Shows errors next to their fields, and all others in the status line. */
function showFaults(form: HTMLFormElement, problem: Problem): void {
  const others: string[] = [];
  for (const fault of problem.errors) {
    const path = (fault.pointer ?? "").split("/").slice(1);
    const name = path.map((_, length) => path.slice(0, length + 1).join(".")).findLast((one) => form.querySelector(`[name="${CSS.escape(one)}"]`)) ?? "";
    const field = name ? form.querySelector<Field>(`[name="${CSS.escape(name)}"]`) : null;
    if (!field) {
      others.push(fault.detail);
      continue;
    }
    field.setAttribute("aria-invalid", "true");
    field.setCustomValidity(fault.detail);
    field.reportValidity();
    field.addEventListener(
      "input",
      () => {
        field.setCustomValidity("");
        field.removeAttribute("aria-invalid");
      },
      { once: true },
    );
  }
  if (others.length > 0 || problem.errors.length === 0) say(others.join("; ") || problem.message, true);
}

export interface Made {
  id?: string;
}

/** Sends `form` and returns the response; shows an error and returns undefined if it was rejected. */
export async function submit<T>(form: HTMLFormElement): Promise<T | undefined> {
  const { action = "", method = "POST" } = form.dataset;
  try {
    return await send<T>(method, action, collect(form));
  } catch (error) {
    if (error instanceof Problem) showFaults(form, error);
    else say("The server does not respond.", true);
    return undefined;
  }
}

export function startForms(): void {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.dataset.action || form.dataset.own !== undefined) return;
    event.preventDefault();
    const made = await submit<Made>(form);
    if (made === undefined) return;
    if (form.dataset.to) location.assign(form.dataset.to.replace("{id}", made?.id ?? ""));
    else location.reload();
  });
}
