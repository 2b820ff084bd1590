// The link that `lyceum up` prints has the token after a #, which browsers do not send to the server.
const token = location.hash.slice(1);
const field = document.querySelector<HTMLInputElement>("#token");
if (token && field) {
  history.replaceState(null, "", location.pathname);
  field.value = token;
  field.form?.submit();
}
