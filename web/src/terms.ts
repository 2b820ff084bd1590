// Shows the meaning of a word (`parts::term`) while it is pointed at or focused. Escape hides it. Without JavaScript
// browsers show the same text as a title.

let shown: HTMLElement | undefined;
const box = document.createElement("div");
box.id = "meaning";
box.role = "tooltip";
box.hidden = true;

function show(term: HTMLElement): void {
  // Once only, or the browser would show its own tooltip above this one.
  if (term.title) {
    term.dataset.meaning = term.title;
    term.removeAttribute("title");
  }
  hide();
  shown = term;
  box.textContent = term.dataset.meaning ?? "";
  if (!box.isConnected) document.body.append(box);
  box.hidden = false;
  term.setAttribute("aria-describedby", box.id);
  place(term);
}

function place(term: HTMLElement): void {
  const [at, size] = [term.getBoundingClientRect(), box.getBoundingClientRect()];
  const below = at.bottom + size.height < innerHeight ? at.bottom : at.top - size.height;
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  box.style.top = `${Math.max(0, below)}px`;
}

function hide(): void {
  box.hidden = true;
  shown?.removeAttribute("aria-describedby");
  shown = undefined;
}

const termOf = (event: Event) => (event.target instanceof Element ? event.target.closest<HTMLElement>(".term") : null);
/** The box itself may be pointed at, to read or copy it. */
const isInside = (event: Event) => event.target instanceof Node && box.contains(event.target);

export function startTerms(): void {
  document.addEventListener("pointerover", (event) => {
    const term = termOf(event);
    if (term) show(term);
    else if (shown && shown !== document.activeElement && !isInside(event)) hide();
  });
  document.addEventListener("focusin", (event) => {
    const term = termOf(event);
    if (term) show(term);
    else hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  // Moving the focus to a word may scroll to it.
  const follow = () => (shown && shown === document.activeElement ? place(shown) : hide());
  addEventListener("scroll", follow, { passive: true, capture: true });
}
