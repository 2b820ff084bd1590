// Buttons that do something: `data-method` and `data-action` say what is sent, `data-body` with which JSON,
// `data-confirm` what is asked first, `data-to` where the page goes after it (`{id}`: the id of what was made; else it is
// loaded anew).
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
    say(error instanceof Problem ? error.message : "The server does not answer.", true);
  }
}

export function startActions(): void {
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLButtonElement>("button[data-action]") : null;
    if (button) void act(button);
  });
}
