// The theme's colours, as charts need them: read from the stylesheet, where they stand once.

export interface Palette {
  text: string;
  muted: string;
  line: string;
  surface: string;
  accent: string;
  teacher: string;
  student: string;
  good: string;
  bad: string;
  warn: string;
  /** Colours of series that have no meaning of their own (Okabe and Ito's, told apart by the colour-blind). */
  series: string[];
}

const names = ["text", "muted", "line", "surface", "accent", "teacher", "student", "good", "bad", "warn"] as const;

/** The colours of the theme that the page has now. */
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
