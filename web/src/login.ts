// The link that `lyceum up` prints has the token after a #, which browsers do not send to the server.
const field = document.querySelector<HTMLInputElement>("#token");
const to = document.querySelector<HTMLInputElement>("#to");

/** Takes the token out of the address. */
function fromLink(): boolean {
  const fragment = location.hash.slice(1);
  if (!fragment || !field) return false;
  history.replaceState(null, "", location.pathname + location.search);
  if (!to?.value || fragment.startsWith("lyc_")) {
    field.value = fragment;
    return true;
  }
  // Browsers keep the fragment of the page that was asked for when they are sent here.
  to.value = `${to.value.split("#")[0]}#${fragment}`;
  return false;
}

/** A link on another site logs nobody in without a click. */
const byHand = () => document.querySelector("#by-hand")?.removeAttribute("hidden");

if (fromLink() && field?.form) {
  if ("byLink" in field.form.dataset) field.form.submit();
  else byHand();
}

// A link opened in a tab that shows this page only changes the fragment. Nobody knows whose link it is.
addEventListener("hashchange", () => fromLink() && byHand());
