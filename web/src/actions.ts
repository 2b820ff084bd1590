// Action buttons: `data-method` and `data-action` are the request, `data-body` its JSON, `data-confirm` a confirmation
// question, `data-to` the page to open afterwards (`{id}` is the id of the created resource; without it the page is
// reloaded).
import { Problem, send } from "./api";
import { say } from "./say";

async function act(button: HTMLButtonElement): Promise<void> {
  const { method = "POST", action = "", body, confirm: question, to } = button.dataset;
  if (question && !confirm(question)) return;
  button.disabled = true;
  try {
    const made = await send<{ id?: string } | undefined>(method, action, body === undefined ? undefined : JSON.parse(body));
    if (to) location.assign(to.replace("{id}", made?.id ?? ""));
    else location.reload();
  } catch (error) {
    button.disabled = false;
    say(error instanceof Problem ? error.message : "The server does not respond.", true);
  }
}

export function startActions(): void {
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLButtonElement>("button[data-action]") : null;
    if (button) void act(button);
  });
}
