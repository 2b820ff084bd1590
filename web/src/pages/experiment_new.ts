// The form of an experiment: "Check" shows what its file comes to, "Begin" sends it. Many runs are asked about.
import { type FieldFault, Problem, send } from "../api";
import { element } from "../element";
import { duration } from "../format";
import { say } from "../say";

interface ArmOutlook {
  arm: string;
  runs: number;
  steps: number;
  step_seconds: number | null;
  seconds: number | null;
}

interface Outlook {
  runs: number;
  concurrency: number;
  arms: ArmOutlook[];
  seconds: number | null;
  budget_seconds: number | null;
  unused: string[];
}

const at = <T extends HTMLElement = HTMLElement>(id: string): T => document.querySelector<T>(`#${id}`)!;
const file = at<HTMLTextAreaElement>("file");
const askedAbove = 100;

function showFaults(faults: FieldFault[], otherwise = ""): void {
  const told = faults.map(({ pointer, detail }) => element("li", `${(pointer ?? "").replace(/^\/file\/?/, "")} ${detail}`.trim()));
  const items = told.length > 0 || !otherwise ? told : [element("li", otherwise)];
  at("faults").hidden = items.length === 0;
  at("faults").replaceChildren(...items);
}

function show(outlook: Outlook): void {
  const time = outlook.seconds === null ? "Their time is unknown until a run like them has completed some steps." : `About ${duration(outlook.seconds)}.`;
  const budget = outlook.budget_seconds;
  const over = budget !== null && outlook.seconds !== null && outlook.seconds > budget ? ` That is more than the budget of ${duration(budget)}.` : "";
  const unused = outlook.unused.length > 0 ? ` Not used here: ${outlook.unused.join(", ")}.` : "";
  at("outlook").textContent = `${outlook.runs} runs, ${outlook.concurrency} at a time. ${time}${over}${unused}`;
  const rows = outlook.arms.map((arm) => {
    const row = document.createElement("tr");
    const head = element("th", arm.arm) as HTMLTableCellElement;
    head.scope = "row";
    const known = (seconds: number | null) => (seconds === null ? "–" : duration(seconds));
    row.append(head);
    for (const text of [String(arm.runs), String(arm.steps), known(arm.step_seconds), known(arm.seconds)]) row.append(element("td", text, "number"));
    return row;
  });
  at("arms").replaceChildren(...rows);
}

/** What the file comes to; undefined, with its faults shown, if it is refused. */
async function check(): Promise<Outlook | undefined> {
  at("outcome").textContent = "Checking…";
  try {
    const outlook = await send<Outlook>("POST", "/api/v1/sweeps?dry_run=true", { file: file.value });
    showFaults([]);
    show(outlook);
    at("outcome").textContent = "Valid.";
    return outlook;
  } catch (error) {
    refused(error);
    return undefined;
  }
}

function refused(error: unknown): void {
  if (error instanceof Problem) {
    showFaults(error.errors, error.message);
    at("outcome").textContent = "Not valid. Nothing was created.";
  } else {
    at("outcome").textContent = "";
    say("The server does not respond.", true);
  }
}

async function begin(): Promise<void> {
  const outlook = await check();
  if (!outlook) return;
  const body: Record<string, unknown> = { file: file.value };
  if (outlook.runs > askedAbove) {
    if (!confirm(`This experiment has ${outlook.runs} runs. Begin it?`)) return;
    body.confirm_runs = outlook.runs;
  }
  try {
    const sweep = await send<{ experiment_id: string }>("POST", "/api/v1/sweeps", body);
    location.assign(`/experiments/${sweep.experiment_id}`);
  } catch (error) {
    refused(error);
  }
}

at("check").addEventListener("click", () => void check());
at("sweep").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = at<HTMLButtonElement>("begin");
  button.disabled = true;
  await begin();
  button.disabled = false;
});
at<HTMLInputElement>("open-file").addEventListener("change", async (event) => {
  const chosen = (event.target as HTMLInputElement).files?.[0];
  if (chosen) file.value = await chosen.text();
});
