// The form for a new run: every change is sent as a dry run, and errors are shown next to the fields; submitting sends
// the same request for real.
import { type FieldFault, Problem, send } from "../api";
import { type Control, controlsOf } from "../controls";
import { element } from "../element";
import { startFieldSearch } from "../field_search";
import { showFaults as show } from "../faults";
import { bytes, duration } from "../format";
import { island } from "../island";
import { say } from "../say";

interface Data {
  preset: string | null;
  /** The run that is forked, and before which step. */
  fork: { run: string; step: number } | null;
  config: Record<string, unknown>;
  address: string;
  step_seconds: number | null;
}

/** Memory of a population: `MemoryEstimate` of the API. */
interface Memory {
  population: string;
  base_model: string;
  bytes: number | null;
  generation: number | null;
  cache: number | null;
  unknown: string | null;
}

interface Trial {
  config: { steps?: number };
  estimate: { memory: Memory[] };
}

interface Request {
  step?: number;
  preset?: string;
  config?: Record<string, unknown>;
  overrides: Record<string, unknown>;
  name?: string;
  experiment?: string;
  tags?: string[];
  note?: string;
}

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const data = island<Data>();
const address = data.fork ? `/api/v1/runs/${data.fork.run}/fork` : "/api/v1/runs";
const form = document.querySelector<HTMLFormElement>("#run")!;
const controls = controlsOf(form);
const metas = [...form.querySelectorAll<Field>("[data-meta]")];
const at = <T extends HTMLElement = HTMLElement>(id: string): T => document.querySelector<T>(`#${id}`)!;

function request(): Request {
  const overrides: Record<string, unknown> = {};
  for (const control of controls) {
    if (control.isChanged()) overrides[control.path] = control.value();
  }
  // A schedule whose last field was emptied is none.
  const schedule = controls.filter((control) => control.path.startsWith("benchmarks."));
  if (schedule.some((control) => control.isChanged()) && schedule.every((control) => control.path === "benchmarks.n" || control.isEmpty())) {
    for (const control of schedule) delete overrides[control.path];
    overrides.benchmarks = null;
  }
  const made: Request = data.fork ? { step: data.fork.step, overrides } : data.preset === null ? { config: data.config, overrides } : { preset: data.preset, overrides };
  for (const field of metas) {
    const text = field.value.trim();
    if (text === "") continue;
    if (field.dataset.meta === "tags") made.tags = text.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
    else made[field.dataset.meta as "name" | "experiment" | "note"] = text;
  }
  return made;
}

/** `/overrides/a.b.c` and `/config/a/b/c` are both the field a.b.c. */
function controlOf(fault: FieldFault): Control | undefined {
  const pointer = fault.pointer ?? "";
  const unescaped = (text: string) => text.replaceAll("~1", "/").replaceAll("~0", "~");
  const path = pointer.startsWith("/overrides/") ? unescaped(pointer.slice("/overrides/".length)) : pointer.startsWith("/config/") ? pointer.slice("/config/".length).split("/").map(unescaped).join(".") : "";
  return controls.find((control) => path === control.path || path.startsWith(`${control.path}.`));
}

function lineOf(fault: FieldFault): HTMLElement | null | undefined {
  const field = controlOf(fault)?.element;
  field?.setAttribute("aria-invalid", "true");
  return field?.closest(".field")?.querySelector<HTMLElement>(".fault") ?? (fault.pointer === "/experiment" ? at("fault-experiment") : undefined);
}

function showFaults(faults: FieldFault[], otherwise = ""): void {
  for (const { element } of controls) element.removeAttribute("aria-invalid");
  const told = ({ pointer, parameter, detail }: FieldFault) => `${pointer ?? parameter ?? ""} ${detail}`.trim();
  show(form, faults, { lineOf, told, leads: true }, otherwise);
}

function flat(value: unknown, path = "", into = new Map<string, string>()): Map<string, string> {
  if (value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 0) {
    for (const [name, inner] of Object.entries(value)) flat(inner, path ? `${path}.${name}` : name, into);
  } else {
    into.set(path, JSON.stringify(value));
  }
  return into;
}

function showResolved(config: unknown): void {
  at("resolved").textContent = JSON.stringify(config, null, 2);
  const [before, now] = [flat(data.config), flat(config)];
  const rows = [...new Set([...before.keys(), ...now.keys()])]
    .filter((path) => before.get(path) !== now.get(path))
    .map((path) => {
      const row = document.createElement("tr");
      row.append(element("th", path, "mono"), element("td", before.get(path) ?? "–", "hostile"), element("td", now.get(path) ?? "–", "hostile"));
      return row;
    });
  const none = document.createElement("tr");
  const cell = element("td", "None.", "muted") as HTMLTableCellElement;
  cell.colSpan = 3;
  none.append(cell);
  at("difference").replaceChildren(...(rows.length > 0 ? rows : [none]));
}

/** Shows the number of steps that follows from other fields, unless one was typed. */
function showSteps(steps: number | undefined): void {
  const control = controls.find((control) => control.path === "steps");
  if (steps === undefined || !(control?.element instanceof HTMLInputElement) || control.isChanged()) return;
  control.element.value = control.element.defaultValue = String(steps);
}

function showMemory(populations: Memory[]): void {
  const rows = populations.map((memory) => {
    const row = document.createElement("tr");
    const head = element("th", `${memory.population} `) as HTMLTableCellElement;
    head.scope = "row";
    head.append(element("span", memory.base_model, "muted small"));
    row.append(head);
    if (memory.unknown !== null) {
      const why = element("td", `Unknown: ${memory.unknown}.`, "muted") as HTMLTableCellElement;
      why.colSpan = 3;
      row.append(why);
      return row;
    }
    for (const size of [memory.bytes, memory.generation, memory.cache]) row.append(element("td", size === null ? "–" : bytes(size), "number nowrap"));
    return row;
  });
  at("memory").replaceChildren(...rows);
}

function showCommand(): void {
  const body = JSON.stringify(request()).replaceAll("'", "'\\''");
  at("command").textContent =
    `curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\\n  -d '${body}' \\\n  ${data.address}${address}`;
  const steps = controls.find((control) => control.path === "steps");
  const estimate = document.querySelector("#estimate");
  if (estimate && data.step_seconds !== null) {
    const seconds = Number(steps?.value()) * data.step_seconds;
    estimate.textContent = seconds > 0 && Number.isFinite(seconds) ? duration(seconds) : "–";
  }
}

let trial: AbortController | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

async function tryOut(): Promise<void> {
  trial?.abort();
  trial = new AbortController();
  showCommand();
  try {
    const answer = await send<Trial>("POST", `${address}?dry_run=true`, request(), trial.signal);
    showFaults([]);
    showResolved(answer.config);
    showSteps(answer.config.steps);
    showMemory(answer.estimate.memory);
    at("verdict").textContent = "Valid.";
    at<HTMLButtonElement>("create").disabled = false;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return;
    at<HTMLButtonElement>("create").disabled = true;
    if (error instanceof Problem) {
      showFaults(error.errors, error.message);
      const count = Math.max(1, error.errors.length);
      at("verdict").textContent = `${count} ${count === 1 ? "fault" : "faults"}.`;
    } else {
      at("verdict").textContent = "The server does not respond.";
    }
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => void tryOut(), 250);
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = at<HTMLButtonElement>("create");
  button.disabled = true;
  try {
    const run = await send<{ id: string }>("POST", address, request());
    location.assign(`/runs/${run.id}`);
  } catch (error) {
    button.disabled = false;
    if (error instanceof Problem) showFaults(error.errors, error.message);
    else say("The server does not respond.", true);
  }
});

startFieldSearch(form);
showCommand();
// Back to this page: the browser has put the values back.
addEventListener("pageshow", (event) => {
  if (event.persisted || controls.some((control) => control.isChanged())) void tryOut();
});
