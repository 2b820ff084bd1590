// Pinned charts of a run: they stand above all others, or alone, and are kept in the address, so a set of charts can be saved
// and shared as a view.

const section = document.querySelector<HTMLElement>("#pinned");
const place = section?.querySelector<HTMLElement>(".charts");
const alone = document.querySelector<HTMLInputElement>("#only-pinned");
const others = (): NodeListOf<HTMLElement> => document.querySelectorAll<HTMLElement>("[data-charts]");

/** Where each pinned chart was. */
const homes = new Map<HTMLElement, Comment>();

const figures = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("figure[data-chart]")];
const pinned = (): string[] => [...(place?.querySelectorAll<HTMLElement>("figure[data-chart]") ?? [])].map((figure) => figure.dataset.chart ?? "");

function toAddress(): void {
  const query = new URLSearchParams(location.search);
  const names = pinned();
  if (names.length > 0) query.set("pins", names.join(","));
  else query.delete("pins");
  if (names.length > 0 && alone?.checked) query.set("only", "pins");
  else query.delete("only");
  const rest = query.size > 0 ? `?${query}` : "";
  history.replaceState(history.state, "", `${location.pathname}${rest}${location.hash}`);
}

function show(): void {
  const has = pinned().length > 0;
  if (section) section.hidden = !has;
  for (const group of others()) group.hidden = has && (alone?.checked ?? false);
  for (const figure of figures()) {
    const button = figure.querySelector<HTMLButtonElement>("[data-pin]");
    const isPinned = homes.has(figure);
    button?.setAttribute("aria-pressed", String(isPinned));
    if (button) button.textContent = isPinned ? "Unpin" : "Pin";
  }
}

function pin(figure: HTMLElement): void {
  if (!place || homes.has(figure)) return;
  const home = document.createComment("pinned");
  figure.replaceWith(home);
  homes.set(figure, home);
  place.append(figure);
}

function unpin(figure: HTMLElement): void {
  homes.get(figure)?.replaceWith(figure);
  homes.delete(figure);
}

/** Pins what the address says. Called before the charts are drawn, so that none moves afterwards. */
export function startPins(): void {
  if (!section) return;
  const query = new URLSearchParams(location.search);
  const byName = new Map(figures().map((figure) => [figure.dataset.chart ?? "", figure]));
  for (const name of (query.get("pins") ?? "").split(",")) {
    const figure = byName.get(name);
    if (figure) pin(figure);
  }
  if (alone) alone.checked = query.get("only") === "pins";
  show();
  alone?.addEventListener("change", () => {
    show();
    toAddress();
  });
  document.addEventListener("click", (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-pin]") : null;
    const figure = button?.closest<HTMLElement>("figure[data-chart]");
    if (!button || !figure) return;
    if (homes.has(figure)) unpin(figure);
    else pin(figure);
    show();
    toAddress();
    // The focus goes with the chart.
    button.focus();
  });
}
