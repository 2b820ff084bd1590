// Turns notices in this browser on and off, and creates a webhook, whose secret is shown once.
import { submit } from "../forms";
import { allowNotices, hasNotices, stopNotices } from "../notices";
import { say } from "../say";

const button = document.querySelector<HTMLButtonElement>("#notices");

/** The label stays, since a longer one could break the line and move the page: whether notices are shown is the button's state. */
const showState = () => button?.setAttribute("aria-pressed", String(hasNotices()));

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
