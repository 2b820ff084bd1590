// A line at the foot of the page that screen readers announce.

/** Says `text` to whoever uses the page; `wrong` keeps it until the next. */
export function say(text: string, wrong = false): void {
  const line = document.querySelector<HTMLElement>("#said");
  if (!line) return;
  line.textContent = text;
  line.dataset.wrong = String(wrong);
  line.hidden = false;
  if (!wrong) setTimeout(() => (line.hidden = true), 4000);
}
