// Light, dark or system theme. The choice is a cookie, so the server renders the page in the right theme.

const order = ["auto", "light", "dark"] as const;
type Theme = (typeof order)[number];

export const themeChanged = "lyceum:theme";

/** The chosen theme. */
export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return order.find((one) => one === chosen) ?? "auto";
}

function choose(chosen: Theme): void {
  document.documentElement.dataset.theme = chosen;
  document.cookie = `lyceum_theme=${chosen}; path=/; max-age=31536000; samesite=strict`;
  dispatchEvent(new Event(themeChanged));
}

/** Makes the header button cycle through the themes. */
export function startTheme(): void {
  const button = document.querySelector<HTMLButtonElement>("#theme");
  const label = button?.querySelector("span");
  if (!button || !label) return;
  const show = () => (label.textContent = `Theme: ${theme()}`);
  show();
  button.addEventListener("click", () => {
    choose(order[(order.indexOf(theme()) + 1) % order.length] ?? "auto");
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event(themeChanged)));
}
