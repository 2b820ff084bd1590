// Keys of the page. Modules add theirs with `onKey`; `?` lists them all.
import { element } from "./element";

interface Key {
  /** As shown, such as `j`. */
  name: string;
  does: string;
}

const keys: Key[] = [];

/** Whether the user is writing, so that letters are text. */
function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select"));
}

/** Lists a key that something else acts on. */
export function listKey(name: string, does: string): void {
  keys.push({ name, does });
}

/** Acts on the letter `name`, unless the user is writing or a dialog is open. */
export function onKey(name: string, does: string, act: () => void): void {
  listKey(name, does);
  document.addEventListener("keydown", (event) => {
    if (event.key !== name || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isWriting(event.target) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    act();
  });
}

/** Makes `?` and the header's button list all keys. */
export function startKeys(): void {
  const dialog = document.querySelector<HTMLDialogElement>("#keys");
  const list = dialog?.querySelector("dl");
  if (!dialog || !list) return;
  const show = () => {
    list.replaceChildren(
      ...keys.map(({ name, does }) => {
        const row = document.createElement("div");
        const term = document.createElement("dt");
        term.append(element("kbd", name));
        row.append(term, element("dd", does));
        return row;
      }),
    );
    dialog.showModal();
  };
  onKey("?", "List the keys of this page", show);
  listKey("Esc", "Close a dialog or a hint");
}
