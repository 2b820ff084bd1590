// Buttons that copy the text of the element they name.

export function startCopying(): void {
  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-copy]") : null;
    const source = button && document.getElementById(button.dataset.copy ?? "");
    if (!button || !source) return;
    button.dataset.label ??= button.textContent ?? "";
    const { label } = button.dataset;
    try {
      await navigator.clipboard.writeText(source.textContent ?? "");
      button.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(source);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = label ?? ""), 1500);
  });
}
