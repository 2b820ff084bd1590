// The form for an evaluation: every change is sent as a dry run, which answers with faults or with the cost; submitting starts it.
import { type FieldFault, Problem, send } from "../api";
import { controlsOf } from "../controls";
import { showFaults as show } from "../faults";
import { duration } from "../format";
import { island } from "../island";
import { say } from "../say";

interface Data {
  spec: Record<string, unknown>;
  origin: string;
}

interface Planned {
  cost: { rows: number; answers: number; seconds: number | null };
}

const data = island<Data>();
const address = "/api/v1/evaluations";
const form = document.querySelector<HTMLFormElement>("#evaluation")!;
const controls = controlsOf(form);
const at = (id: string) => document.querySelector<HTMLElement>(`#${id}`);
const create = document.querySelector<HTMLButtonElement>("#create");

/** The spec that the page was made with, and what was changed. */
function request(): { spec: Record<string, unknown> } {
  const made = { spec: structuredClone(data.spec) };
  for (const control of controls.filter((control) => control.isChanged())) {
    const parts = control.path.split(".");
    const last = parts.pop() ?? "";
    let place: Record<string, unknown> = made;
    for (const part of parts) place = (place[part] ??= {}) as Record<string, unknown>;
    const value = control.value();
    if (value === null || value === "") delete place[last];
    else place[last] = value;
  }
  return made;
}

function lineOf(fault: FieldFault): HTMLElement | null | undefined {
  const path = (fault.pointer ?? "").slice(1).replaceAll("/", ".");
  const field = controls.find((control) => path === control.path || path.startsWith(`${control.path}.`))?.element;
  field?.setAttribute("aria-invalid", "true");
  return field?.closest(".field")?.querySelector<HTMLElement>(".fault");
}

function showFaults(faults: FieldFault[], otherwise = ""): void {
  for (const { element } of controls) element.removeAttribute("aria-invalid");
  show(form, faults, { lineOf, told: ({ pointer, detail }) => `${pointer ?? ""} ${detail}`.trim() }, otherwise);
}

function showCost({ cost }: Planned): void {
  const counted = (count: number, noun: string) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  const time = cost.seconds === null ? "a time that is not known, since none of this type has completed" : `about ${duration(cost.seconds)}`;
  at("cost")!.textContent = `${counted(cost.rows, "row")}, ${counted(cost.answers, "answer")}, ${time}`;
}

let trial: AbortController | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

async function tryOut(): Promise<void> {
  const body = JSON.stringify(request()).replaceAll("'", "'\\''");
  at("command")!.textContent = `curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d '${body}' \\\n  ${data.origin}${address}`;
  if (!create) return;
  trial?.abort();
  trial = new AbortController();
  try {
    showCost(await send<Planned>("POST", `${address}?dry_run=true`, request(), trial.signal));
    showFaults([]);
    at("verdict")!.textContent = "Valid.";
    create.disabled = false;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    create.disabled = true;
    at("cost")!.textContent = "not known until the form is complete";
    if (error instanceof Problem) {
      showFaults(error.errors, error.message);
      const count = Math.max(1, error.errors.length);
      at("verdict")!.textContent = `${count} ${count === 1 ? "fault" : "faults"}.`;
    } else {
      at("verdict")!.textContent = "The server does not respond.";
    }
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => void tryOut(), 250);
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!create) return;
  create.disabled = true;
  try {
    const made = await send<{ id: string }>("POST", address, request());
    location.assign(`/evaluations/${made.id}`);
  } catch (error) {
    create.disabled = false;
    if (error instanceof Problem) showFaults(error.errors, error.message);
    else say("The server does not respond.", true);
  }
});

// Back to this page: the browser has put the values back.
addEventListener("pageshow", (event) => {
  if (event.persisted || controls.some((control) => control.isChanged())) void tryOut();
});
