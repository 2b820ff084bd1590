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

/** The channels of `colour` (as `palette` gives it). */
function channels(colour: string): [number, number, number] {
  const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map(Number);
  return [red, green, blue];
}

/** The `index`th of `count` shades of `colour`, so that curves of one side can be told apart: its hue turned by up to 50° to either side. */
export function shade(colour: string, index: number, count: number): string {
  const turn = count < 2 ? 0 : ((index / (count - 1)) * 2 - 1) * (50 * Math.PI) / 180;
  const [red, green, blue] = channels(colour);
  // A rotation about the grey axis keeps how light the colour is, nearly.
  const [cos, sin] = [Math.cos(turn), Math.sin(turn) / Math.sqrt(3)];
  const third = (1 - cos) / 3;
  const mixed = (one: number, next: number, last: number) =>
    Math.round(Math.min(255, Math.max(0, one * (cos + third) + next * (third - sin) + last * (third + sin))));
  return `rgb(${mixed(red, green, blue)}, ${mixed(green, blue, red)}, ${mixed(blue, red, green)})`;
}

/** `colour` (as `palette` gives it) with another opacity. */
export function faint(colour: string, opacity: number): string {
  return `rgba(${channels(colour).join(", ")}, ${opacity})`;
}
