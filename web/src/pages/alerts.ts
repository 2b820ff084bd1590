// Turns notices in this browser on and off, and creates a webhook, whose secret is shown once.
import { submit } from "../forms";
import { allowNotices, hasNotices, stopNotices } from "../notices";
import { say } from "../say";

const button = document.querySelector<HTMLButtonElement>("#notices");

function showState(): void {
  button?.setAttribute("aria-pressed", String(hasNotices()));
  if (button) button.textContent = hasNotices() ? "Notices are on in this browser" : "Show notices in this browser";
}

button?.addEventListener("click", async () => {
  if (hasNotices()) stopNotices();
  else if (!(await allowNotices())) say("This browser does not allow notices from this page.", true);
  showState();
});
showState();

const form = document.querySelector<HTMLFormElement>("#new-webhook");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const made = await submit<{ secret: string }>(form);
  const secret = document.querySelector("#secret");
  const notice = document.querySelector<HTMLElement>("#made");
  if (!made || !secret || !notice) return;
  secret.textContent = made.secret;
  notice.hidden = false;
  form.reset();
});
