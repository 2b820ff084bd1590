// The link that `lyceum up` prints has the token after a #, which browsers do not send to the server.
const token = location.hash.slice(1);
const field = document.querySelector<HTMLInputElement>("#token");
if (token && field?.form) {
  history.replaceState(null, "", location.pathname);
  field.value = token;
  // A link on another site logs nobody in without a click.
  if ("byLink" in field.form.dataset) field.form.submit();
  else document.querySelector("#by-hand")?.removeAttribute("hidden");
}
