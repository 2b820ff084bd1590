// Creates a token, which is shown once.
import { submit } from "../forms";

const form = document.querySelector<HTMLFormElement>("#new-token");
form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const made = await submit<{ token: string }>(form);
  const secret = document.querySelector("#secret");
  const notice = document.querySelector<HTMLElement>("#made");
  if (!made || !secret || !notice) return;
  secret.textContent = made.token;
  notice.hidden = false;
  form.reset();
});
