// Edits a run's name, tags and note in the list.
import { Problem, get } from "../api";
import { say } from "../say";

interface Run {
  name: string;
  tags: string[];
  note: string;
}

const dialog = document.querySelector<HTMLDialogElement>("#edit")!;
const form = dialog.querySelector("form")!;
const field = (name: keyof Run) => form.elements.namedItem(name) as HTMLInputElement | HTMLTextAreaElement;

async function edit(id: string): Promise<void> {
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

document.addEventListener("click", (event) => {
  if (!(event.target instanceof Element)) return;
  const button = event.target.closest<HTMLElement>("[data-edit]");
  if (button) void edit(button.dataset.edit ?? "");
  else if (event.target.closest("[data-close]") || event.target === dialog) dialog.close();
});
