// The theme's colours for charts, read from the stylesheet.

export interface Palette {
  text: string;
  muted: string;
  line: string;
  surface: string;
  accent: string;
  proposing: string;
  solving: string;
  planning: string;
  judging: string;
  good: string;
  bad: string;
  warn: string;
  /** Colours for series without a fixed colour (Okabe and Ito's colour-blind-safe palette). */
  series: string[];
}

const names = ["text", "muted", "line", "surface", "accent", "proposing", "solving", "planning", "judging", "good", "bad", "warn"] as const;

/** The colours of the current theme. */
export function palette(): Palette {
  const probe = document.createElement("i");
  probe.hidden = true;
  document.body.append(probe);
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = Object.fromEntries(names.map((name) => [name, read(name)])) as Omit<Palette, "series">;
  const series = Array.from({ length: 8 }, (_, index) => read(`series-${index + 1}`));
  probe.remove();
  return { ...colours, series };
}

/** `colour` (as `palette` gives it) with another opacity. */
export function faint(colour: string, opacity: number): string {
  const parts = colour.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return `rgba(${parts.slice(0, 3).join(", ")}, ${opacity})`;
}
