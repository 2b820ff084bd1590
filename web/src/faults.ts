// The faults of a rejected form: each in the `.fault` line of its field, all others in the list `#faults` at the top.
import type { FieldFault } from "./api";
import { element } from "./element";

interface Shown {
  /** The line that belongs to a fault's field. */
  lineOf: (fault: FieldFault) => HTMLElement | null | undefined;
  /** How a fault without a line of its own is told. */
  told?: (fault: FieldFault) => string;
}

/** Shows these faults and no others; `otherwise` is shown where a rejection names no fault. */
export function showFaults(form: HTMLFormElement, faults: FieldFault[], { lineOf, told = ({ detail }) => detail }: Shown, otherwise = ""): void {
  for (const line of form.querySelectorAll<HTMLElement>(".fault")) {
    line.hidden = true;
    line.textContent = "";
  }
  const others: string[] = [];
  for (const fault of faults) {
    const line = lineOf(fault);
    if (!line) {
      others.push(told(fault));
      continue;
    }
    line.hidden = false;
    line.textContent = [line.textContent, fault.detail].filter(Boolean).join("; ");
  }
  if (otherwise && faults.length === 0) others.push(otherwise);
  const list = document.querySelector<HTMLElement>("#faults")!;
  list.hidden = others.length === 0;
  list.replaceChildren(...others.map((text) => element("li", text)));
}
