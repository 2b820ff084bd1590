// Buttons that copy the text of the element they name.

export function startCopying(): void {
  document.addEventListener("click", async (event) => {
    const button = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-copy]") : null;
    const source = button && document.getElementById(button.dataset.copy ?? "");
    if (!button || !source) return;
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(source.textContent ?? "");
      button.textContent = "Copied";
    } catch {
      getSelection()?.selectAllChildren(source);
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = before), 1500);
  });
}
