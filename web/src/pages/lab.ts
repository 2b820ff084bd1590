// The table of runs: editing one in place, what is done with several at once, and their curves above it.
import { Problem, get, send } from "../api";
import { onNews, tell } from "../news";
import { pageAt, take } from "../page";
import { say } from "../say";

interface Run {
  name: string;
  tags: string[];
  note: string;
}

// Those who may only read have no dialogs.
const dialog = document.querySelector<HTMLDialogElement>("#edit");
const form = dialog?.querySelector("form");
const field = (name: keyof Run) => form?.elements.namedItem(name) as HTMLInputElement | HTMLTextAreaElement;

async function edit(id: string): Promise<void> {
  if (!dialog || !form) return;
  try {
    const run = await get<Run>(`/api/v1/runs/${id}`);
    form.dataset.action = `/api/v1/runs/${id}`;
    field("name").value = run.name;
    field("tags").value = run.tags.join(", ");
    field("note").value = run.note;
    dialog.showModal();
  } catch (error) {
    say(error instanceof Problem ? error.message : "The server does not respond.", true);
  }
}

/** Until the curves of what is selected are drawn. */
let timer: ReturnType<typeof setTimeout> | undefined;
/** How often curves were asked for: an answer that a later question overtakes is not shown. */
let asked = 0;

/** The selected runs. They stay selected while the table updates itself, and the address names them. */
const chosen = new Set((new URLSearchParams(location.search).get("overlay") ?? "").split(",").filter((id) => id !== ""));
const boxes = () => [...document.querySelectorAll<HTMLInputElement>("[data-choose]")];

/** Shows what is selected. */
function showChosen(): void {
  const all = boxes();
  for (const box of all) box.checked = chosen.has(box.dataset.choose ?? "");
  const count = document.querySelector("#chosen-count");
  if (count) count.textContent = chosen.size === 0 ? "No run is selected." : `${chosen.size} run${chosen.size === 1 ? " is" : "s are"} selected.`;
  for (const button of document.querySelectorAll<HTMLButtonElement>("[data-chosen]")) button.disabled = chosen.size === 0;
  const every = document.querySelector<HTMLInputElement>("#choose-all");
  if (!every) return;
  every.checked = all.length > 0 && all.every((box) => box.checked);
  every.indeterminate = !every.checked && all.some((box) => box.checked);
}

/**
 * Does `act` with each selected run, one after the other; says how many failed and why the first did. The newest comes first,
 * as ids grow with time: a run cannot be deleted before its forks.
 */
async function withEach(done: string, act: (id: string) => Promise<unknown>): Promise<void> {
  const faults: string[] = [];
  for (const id of [...chosen].sort().reverse()) {
    try {
      await act(id);
      chosen.delete(id);
    } catch (error) {
      faults.push(error instanceof Problem ? error.message : "The server does not respond.");
    }
  }
  if (faults.length === 0) {
    // Nothing is selected any more.
    clearTimeout(timer);
    asked++;
    const address = new URL(location.href);
    address.searchParams.delete("overlay");
    return location.replace(address);
  }
  showChosen();
  say(`${faults.length} of the runs could not be ${done}: ${faults[0]}`, true);
}

/** Asks with the dialog `id`, and returns what was written into its field `name`; undefined if it was closed. */
function ask(id: string, name: string): Promise<string | undefined> {
  const asking = document.querySelector<HTMLDialogElement>(`#${id}`)!;
  asking.returnValue = "";
  asking.showModal();
  return new Promise((resolve) => {
    const answer = () => {
      const input = asking.querySelector<HTMLInputElement>(`[name="${name}"]`);
      resolve(asking.returnValue === "save" ? input?.value.trim() : undefined);
    };
    asking.addEventListener("close", answer, { once: true });
  });
}

async function actOnChosen(action: string): Promise<void> {
  switch (action) {
    case "compare":
      return location.assign(`/compare?runs=${[...chosen].join(",")}`);
    case "tag": {
      const added = (await ask("tag-chosen", "tags"))?.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
      if (!added?.length) return;
      return withEach("tagged", async (id) => {
        const { tags } = await get<Run>(`/api/v1/runs/${id}`);
        await send("PATCH", `/api/v1/runs/${id}`, { tags: [...new Set([...tags, ...added])] });
      });
    }
    case "move": {
      const experiment = await ask("move-chosen", "experiment");
      if (!experiment) return;
      return withEach("moved", (id) => send("PATCH", `/api/v1/runs/${id}`, { experiment }));
    }
    case "delete":
      if (!confirm(`Delete ${chosen.size} run${chosen.size === 1 ? "" : "s"} with everything in ${chosen.size === 1 ? "it" : "them"}? This cannot be undone.`)) return;
      return withEach("deleted", (id) => send("DELETE", `/api/v1/runs/${id}`));
  }
}

/** Maximum number of curves in an overlay. */
const curves = 12;

/** Draws the curves of the selected runs above the table. The address names them once they are in the document. */
async function overlay(): Promise<void> {
  const address = new URL(location.href);
  address.searchParams.delete("overlay");
  if (chosen.size > 0) address.searchParams.set("overlay", [...chosen].slice(-curves).join(","));
  const turn = ++asked;
  const page = await pageAt(address.href);
  if (!page || turn !== asked) return;
  tell(page);
  take(page, "view");
  showChosen();
  history.replaceState(null, "", address);
  if (document.querySelector("#figures")) await import("./figures");
}

document.addEventListener("change", (event) => {
  if (!(event.target instanceof HTMLInputElement)) return;
  const { target } = event;
  const changed = target.id === "choose-all" ? boxes() : target.dataset.choose ? [target] : [];
  for (const box of changed) {
    const id = box.dataset.choose ?? "";
    if (target.checked) chosen.add(id);
    else chosen.delete(id);
  }
  if (changed.length === 0) return;
  showChosen();
  clearTimeout(timer);
  timer = setTimeout(() => overlay().catch(() => say("The server does not respond.", true)), 250);
});

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const button = event.target.closest<HTMLElement>("[data-edit]");
  if (button) void edit(button.dataset.edit ?? "");
  const action = event.target.closest<HTMLElement>("[data-chosen]");
  if (action) void actOnChosen(action.dataset.chosen ?? "");
  const open = event.target.closest("dialog");
  if (open && (event.target.closest("[data-close]") || event.target === open)) open.close();
});

// The news are told before they are in the document.
onNews(() => queueMicrotask(showChosen));
showChosen();
