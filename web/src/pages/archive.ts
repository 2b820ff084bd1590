// The slider of the map: shows the archive at an earlier step without leaving the page.
import { onNews } from "../news";
import { pageAt, take } from "../page";
import { say } from "../say";

const form = document.querySelector<HTMLFormElement>("#scrubber");
const slider = document.querySelector<HTMLInputElement>("#step");
const shown = document.querySelector<HTMLOutputElement>("#step-shown");
let latest: AbortController | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Replaces the maps with those of the page at `address`. */
async function show(address: string): Promise<void> {
  latest?.abort();
  latest = new AbortController();
  const page = await pageAt(address, {}, latest.signal);
  if (!page) throw new Error("the server has no such map");
  take(page, "maps");
  history.replaceState(null, "", address);
}

function changed(): void {
  if (!form) return;
  const fields = new URLSearchParams(new FormData(form) as unknown as Record<string, string>);
  for (const [name, value] of [...fields]) if (value === "") fields.delete(name);
  // If the newest step is shown, keep showing the newest.
  if (slider?.value === slider?.max) fields.delete("step");
  show(`${location.pathname}?${fields}`).catch((error: Error) => {
    if (error.name !== "AbortError") say("The map could not be loaded.", true);
  });
}

slider?.addEventListener("input", () => {
  if (shown) shown.value = slider.value;
  clearTimeout(timer);
  timer = setTimeout(changed, 60);
});
for (const choice of form?.querySelectorAll("select") ?? []) choice.addEventListener("change", changed);
onNews((page) => {
  const last = page.querySelector<HTMLInputElement>("#step")?.max;
  if (!slider || last === undefined) return;
  const isNewest = slider.value === slider.max;
  slider.max = last;
  if (isNewest) slider.value = last;
  if (shown) shown.value = slider.value;
});
