// The form for a new dataset: "Check" sends the file as a dry run and shows its first rows or its faults by line and field;
// submitting sends the same request for real.
import { type FieldFault, Problem, send as post, upload } from "../api";
import { element } from "../element";
import { showFaults as show } from "../faults";
import { say } from "../say";

interface Report {
  read: number;
  kept: number;
  duplicates: number;
  too_short: number;
  too_long: number;
}

interface Preview {
  report: Report;
  rows: unknown[];
}

type Field = HTMLInputElement | HTMLSelectElement;

const at = <T extends HTMLElement = HTMLElement>(id: string): T => document.querySelector<T>(`#${id}`)!;
const form = at<HTMLFormElement>("import");
const named = [...form.querySelectorAll<Field>("[name]")];
const mapped = [...form.querySelectorAll<HTMLElement>("[data-field]")];
const value = (id: string): string => at<Field>(id).value.trim();
const usesMap = (): boolean => value("format") === "map";
const usesReward = (): boolean => usesMap() && value("oracle") === "python";
const reward = at<HTMLTextAreaElement>("reward-source");
const file = (): File | undefined => at<HTMLInputElement>("file").files?.[0];

// A link can name what the rows are for: `?purpose=benchmark&format=suite`.
for (const [name, asked] of new URLSearchParams(location.search)) {
  const field = named.find((one) => one.name === name);
  if (field instanceof HTMLSelectElement && [...field.options].some((option) => option.value === asked)) field.value = asked;
}

function columns(): Record<string, string> {
  const named: Record<string, string> = {};
  for (const field of mapped) {
    const column = field.querySelector("input")!.value.trim();
    if (!field.hidden && column !== "") named[field.dataset.field!] = column;
  }
  return named;
}

function parameters(): URLSearchParams {
  const made = new URLSearchParams();
  for (const field of named) {
    const text = field.value.trim();
    if (text === "" || (field.id === "format" && text === "map") || (field.id === "oracle" && !usesMap())) continue;
    made.set(field.name, text);
  }
  if (usesMap()) made.set("map", JSON.stringify(columns()));
  if (at<HTMLInputElement>("keep_duplicates").checked) made.set("keep_duplicates", "true");
  const chosen = file();
  if (chosen && value("hub") === "") made.set("source", chosen.name);
  return made;
}

/** Shows the fields of the map that the chosen oracle has. */
function arrange(): void {
  const oracle = value("oracle");
  at("oracle").closest<HTMLElement>(".field")!.hidden = !usesMap();
  for (const field of mapped) {
    field.hidden = !usesMap() || !field.dataset.oracles!.split(" ").includes(oracle);
    const isGiven = field.dataset.field === "reward" && reward.value.trim() !== "";
    field.querySelector("input")!.required = !field.hidden && !isGiven && field.dataset.needed!.split(" ").includes(oracle);
  }
  at("own-reward").hidden = !usesReward();
  showCommand();
}

const quoted = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function showCommand(): void {
  const hub = value("hub");
  const place = hub === "" ? (file()?.name ?? "FILE") : hub.startsWith("hf://") ? hub : `hf://datasets/${hub}`;
  const words = [`lyceum dataset import ${quoted(place)}`];
  const isOwn = usesReward() && reward.value.trim() !== "";
  if (isOwn) words.push("--reward reward.py");
  for (const [name, text] of parameters()) {
    if (isOwn && name === "oracle") continue;
    if (name === "hub" || name === "source" || name === "map" || (name === "format" && text === "lyceum")) continue;
    const option = `--${name.replaceAll("_", "-")}`;
    words.push(name === "keep_duplicates" ? option : `${option} ${quoted(text)}`);
  }
  if (usesMap()) for (const [name, column] of Object.entries(columns())) if (!isOwn || name !== "reward") words.push(`--map ${quoted(`${name}=${column}`)}`);
  at("command").textContent = words.join(" \\\n  ");
}

const lineOf = ({ parameter }: FieldFault) => (parameter ? form.querySelector<HTMLElement>(`[data-of="${CSS.escape(parameter)}"]`) : null);

const showFaults = (faults: FieldFault[], otherwise = ""): void => show(form, faults, { lineOf }, otherwise);

function told(report: Report): string {
  const dropped = [
    [report.duplicates, "duplicates"],
    [report.too_short, "too short"],
    [report.too_long, "too long"],
  ].filter(([count]) => count !== 0);
  const left = dropped.length === 0 ? "" : `, left out: ${dropped.map(([count, why]) => `${count} ${why}`).join(", ")}`;
  return `${report.read} rows read, ${report.kept} kept${left}.`;
}

function showRows(rows: unknown[]): void {
  at("preview").hidden = rows.length === 0;
  at("rows").replaceChildren(
    ...rows.map((row) => {
      const shown = element("pre", JSON.stringify(row, null, 2), "hostile");
      shown.tabIndex = 0;
      return shown;
    }),
  );
}

const buttons = [at<HTMLButtonElement>("check"), at<HTMLButtonElement>("send")];

/** Stores the reward that was written or chosen, and names it among the columns. */
async function storeReward(): Promise<void> {
  if (!usesReward() || reward.value.trim() === "") return;
  try {
    const stored = await post<{ digest: string }>("POST", "/api/v1/rewards", { source: reward.value });
    at<HTMLInputElement>("map-reward").value = stored.digest;
  } catch (error) {
    if (error instanceof Problem) for (const fault of error.errors) fault.parameter = "reward";
    throw error;
  }
}

async function send<T>(isTrial: boolean): Promise<T | undefined> {
  const chosen = file();
  if (chosen === undefined && value("hub") === "") {
    showFaults([{ detail: "Choose a file, or name a dataset on the hub." }]);
    return undefined;
  }
  if (!form.reportValidity()) return undefined;
  for (const button of buttons) button.disabled = true;
  at("verdict").textContent = isTrial ? "Checking…" : "Importing…";
  showRows([]);
  try {
    await storeReward();
    const asked = parameters();
    if (isTrial) asked.set("dry_run", "true");
    const answer = await upload<T>(`/api/v1/datasets/import?${asked}`, asked.has("hub") ? undefined : chosen);
    showFaults([]);
    return answer;
  } catch (error) {
    at("verdict").textContent = "";
    if (error instanceof Problem) {
      showFaults(error.errors, error.message);
      const count = Math.max(1, error.errors.length);
      at("verdict").textContent = `${count} ${count === 1 ? "fault" : "faults"}; nothing was imported.`;
    } else {
      say("The server does not respond, or the file has changed.", true);
    }
    return undefined;
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

at("check").addEventListener("click", async () => {
  const preview = await send<Preview>(true);
  if (preview === undefined) return;
  at("verdict").textContent = told(preview.report);
  showRows(preview.rows);
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const made = await send<{ id: string }>(false);
  if (made !== undefined) location.assign(`/datasets/${made.id}`);
});

at("reward-file").addEventListener("change", async () => {
  const chosen = at<HTMLInputElement>("reward-file").files?.[0];
  if (chosen) reward.value = await chosen.text();
  arrange();
});

form.addEventListener("input", (event) => {
  const name = at<HTMLInputElement>("name");
  if (event.target === at("file") && name.value === "") name.value = (file()?.name ?? "").replace(/\.(jsonl|ndjson|json|parquet)?(\.gz)?$/, "");
  arrange();
});
addEventListener("pageshow", arrange);
