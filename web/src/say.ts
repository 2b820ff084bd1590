// A line at the foot of the page that screen readers announce.

/** Shows `text` to the user; with `wrong` it stays until the next message. */
export function say(text: string, wrong = false): void {
  const line = document.querySelector<HTMLElement>("#said");
  if (!line) return;
  line.textContent = text;
  line.dataset.wrong = String(wrong);
  line.hidden = false;
  if (!wrong) setTimeout(() => (line.hidden = true), 4000);
}
