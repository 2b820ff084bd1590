// The faults of a rejected form: each in the `.fault` line of its field, all others in the list `#faults`, which may also lead
// to the fields.
import type { FieldFault } from "./api";
import { element } from "./element";

interface Shown {
  /** The line that belongs to a fault's field. */
  lineOf: (fault: FieldFault) => HTMLElement | null | undefined;
  /** How a fault without a line of its own is told. */
  told?: (fault: FieldFault) => string;
  /** Whether the list leads to each field with a fault, for a form that is taller than a window. */
  leads?: boolean;
}

/** A link to the field that a fault's line belongs to, which opens the group that the field is in. */
function lead(line: HTMLElement): HTMLElement | undefined {
  const field = line.closest(".field");
  const control = field?.querySelector<HTMLElement>("input, select, textarea, [data-add]");
  if (!field || !control) return undefined;
  const link = element("a", field.querySelector("legend, label")?.textContent?.trim() || control.id) as HTMLAnchorElement;
  link.href = `#${control.id || field.querySelector("fieldset")?.id || ""}`;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    for (let fold = field.closest("details"); fold; fold = fold.parentElement?.closest("details") ?? null) fold.open = true;
    control.focus();
    control.scrollIntoView({ block: "center" });
  });
  const item = element("li", "");
  item.append(link);
  return item;
}

/** Shows these faults and no others; `otherwise` is shown where a rejection names no fault. */
export function showFaults(form: HTMLFormElement, faults: FieldFault[], { lineOf, told = ({ detail }) => detail, leads = false }: Shown, otherwise = ""): void {
  for (const line of form.querySelectorAll<HTMLElement>(".fault")) {
    line.hidden = true;
    line.textContent = "";
  }
  const items: HTMLElement[] = [];
  for (const fault of faults) {
    const line = lineOf(fault);
    if (!line) {
      items.push(element("li", told(fault)));
      continue;
    }
    const isFirst = line.hidden;
    line.hidden = false;
    line.textContent = [line.textContent, fault.detail].filter(Boolean).join("; ");
    const item = leads && isFirst ? lead(line) : undefined;
    if (item) items.push(item);
  }
  if (otherwise && faults.length === 0) items.push(element("li", otherwise));
  const list = document.querySelector<HTMLElement>("#faults")!;
  list.hidden = items.length === 0;
  list.replaceChildren(...items);
}
