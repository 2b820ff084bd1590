// The fields of a form that makes a config: plain ones, and editors of lists, which the server renders as
// `<fieldset data-kind>` with a template for what is added.

/** A field: its value as it is now, and as the server rendered it, whatever the browser restored. */
export interface Control {
  readonly path: string;
  readonly element: HTMLElement;
  /** The value for the config. */
  value(): unknown;
  isChanged(): boolean;
  isEmpty(): boolean;
}

type Plain = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const isCheck = (field: Plain): field is HTMLInputElement => field instanceof HTMLInputElement && field.type === "checkbox";
const written = (field: Plain): string => (isCheck(field) ? String(field.checked) : field.value);

function initial(field: Plain): string {
  if (field instanceof HTMLSelectElement) return ([...field.options].find((one) => one.defaultSelected) ?? field.options[0])?.value ?? "";
  return isCheck(field) ? String(field.defaultChecked) : field.defaultValue;
}

/** A text for the config. Invalid numbers and JSON are sent as strings, so the server reports the fault. */
function typed(field: Plain, text: string): unknown {
  switch (field.dataset.kind) {
    case "check":
      return text === "true";
    case "number":
    case "json": {
      if (text.trim() === "") return null;
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    }
    case "choice":
      return text === "" ? null : text;
    default:
      return text === "" && field.dataset.optional !== undefined ? null : text;
  }
}

function plain(field: Plain): Control {
  return {
    path: field.dataset.path ?? "",
    element: field,
    value: () => typed(field, written(field)),
    isChanged: () => written(field) !== initial(field),
    isEmpty: () => (isCheck(field) ? !field.checked : field.value.trim() === ""),
  };
}

/** Reads a form now, or as the server rendered it. */
type Reading = { of: (field: Plain) => string; isChecked: (box: HTMLInputElement) => boolean };
const now: Reading = { of: written, isChecked: (box) => box.checked };
const rendered: Reading = { of: initial, isChecked: (box) => box.defaultChecked };

function several(list: HTMLElement, reading: Reading): string[] {
  const boxes = [...list.querySelectorAll<HTMLInputElement>("input[type=checkbox]")];
  return boxes.filter(reading.isChecked).map((box) => box.value);
}

/** The text that `config_form::escaped` wrote. */
function unescaped(text: string): string {
  try {
    return JSON.parse(`"${text.replaceAll('"', '\\"')}"`) as string;
  } catch {
    return text;
  }
}

function entries(list: HTMLElement): HTMLElement[] {
  return [...list.children].filter((child): child is HTMLElement => child.matches(".entry"));
}

/** The object of an entry. `outer.inner` is a field of the object `outer`, which is null if all its fields are. */
function item(entry: HTMLElement, reading: Reading): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const field of entry.querySelectorAll<HTMLElement>("[data-item]")) {
    const value = field.dataset.kind === "several" ? several(field, reading) : typed(field as Plain, reading.of(field as Plain));
    const [outer = "", inner] = (field.dataset.item ?? "").split(".");
    if (inner === undefined) made[outer] = value;
    else if (value === null) made[outer] ??= null;
    else made[outer] = { ...(made[outer] as object | null), [inner]: value };
  }
  return made;
}

function valueOf(list: HTMLElement, reading: Reading): unknown[] {
  switch (list.dataset.kind) {
    case "several":
      return several(list, reading);
    case "texts": {
      const texts = entries(list).map((entry) => entry.querySelector<HTMLInputElement>("[data-text]"));
      return texts.flatMap((field) => (field && reading.of(field) !== "" ? [unescaped(reading.of(field))] : []));
    }
    default:
      return entries(list).map((entry) => item(entry, reading));
  }
}

/** Makes the buttons of an editor work. */
function editable(list: HTMLElement): void {
  list.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const entry = event.target.closest("[data-remove]")?.closest<HTMLElement>(".entry");
    const adds = event.target.closest<HTMLElement>("[data-add]");
    if (entry) {
      entry.remove();
      list.querySelector<HTMLElement>("[data-add]")?.focus();
    } else if (adds) {
      const added = list.querySelector("template")?.content.cloneNode(true) as DocumentFragment;
      const first = added.querySelector<HTMLElement>("input, select");
      adds.before(added);
      first?.focus();
    }
    if (entry || adds) list.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

function list(element: HTMLElement): Control {
  // What is added later has no rendered value, so this is read before anything is.
  const before = JSON.stringify(valueOf(element, rendered));
  editable(element);
  return {
    path: element.dataset.path ?? "",
    element,
    value: () => valueOf(element, now),
    isChanged: () => JSON.stringify(valueOf(element, now)) !== before,
    isEmpty: () => valueOf(element, now).length === 0,
  };
}

/** The controls of `form`, in the order of the page. */
export function controlsOf(form: HTMLElement): Control[] {
  const all = [...form.querySelectorAll<HTMLElement>("[data-path]")];
  return all.map((element) => (element.matches("fieldset") ? list(element) : plain(element as Plain)));
}
