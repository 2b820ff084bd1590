// Saves the lineage: the drawing with inlined colours, and its table.
import { csvLine, download } from "../download";
import { palette } from "../palette";
import { say } from "../say";

const styles = ["fill", "stroke", "stroke-width", "font-size", "font-family", "text-anchor"];
const scale = 2;

/** Converts any CSS colour to a form that all programs understand. */
function plainColour(): (colour: string) => string {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
  const known = new Map<string, string>();
  return (colour) => {
    if (colour === "none" || colour === "") return colour;
    const before = known.get(colour);
    if (before) return before;
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    const plain = `rgb(${red}, ${green}, ${blue})`;
    known.set(colour, plain);
    return plain;
  };
}

/** The drawing as a standalone file. */
function alone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const plain = plainColour();
  const copies = [...copy.querySelectorAll("*")];
  [...svg.querySelectorAll("*")].forEach((element, index) => {
    const style = getComputedStyle(element);
    for (const name of styles) {
      const value = style.getPropertyValue(name);
      copies[index]?.setAttribute(name, name === "fill" || name === "stroke" ? plain(value) : value);
    }
  });
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", palette().surface);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

async function picture(svg: SVGSVGElement): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(alone(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = svg.viewBox.baseVal.width * scale;
  canvas.height = svg.viewBox.baseVal.height * scale;
  canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture")))));
}

const rowsOf = (table: HTMLTableElement): string =>
  [...table.rows].map((row) => csvLine([...row.cells].map((cell) => cell.innerText.trim()))).join("\n") + "\n";

async function save(kind: string): Promise<void> {
  const svg = document.querySelector<SVGSVGElement>("#tree svg");
  const table = document.querySelector<HTMLTableElement>("#births table");
  if (!svg || !table) return;
  if (kind === "csv") download("lineage.csv", "text/csv", [rowsOf(table)]);
  else if (kind === "svg") download("lineage.svg", "image/svg+xml", [alone(svg)]);
  else download("lineage.png", "image/png", [await picture(svg)]);
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element ? event.target.closest<HTMLElement>("#tree [data-save]") : null;
  if (button) save(button.dataset.save ?? "png").catch(() => say("The drawing could not be saved.", true));
});
