// On narrow screens tabs scroll sideways; keep the open one visible.

export function startTabs(): void {
  for (const open of document.querySelectorAll<HTMLElement>("nav [aria-current]")) {
    const row = open.closest("nav");
    if (!row || row.scrollWidth <= row.clientWidth) continue;
    const [place, frame] = [open.getBoundingClientRect(), row.getBoundingClientRect()];
    row.scrollLeft += place.left - frame.left - (frame.width - place.width) / 2;
  }
}
