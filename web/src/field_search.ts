// Finds fields of a long form: shows those whose name, path or explanation has all words, and opens their groups.

export function startFieldSearch(form: HTMLElement): void {
  const input = document.querySelector<HTMLInputElement>("#find-field");
  const status = document.querySelector<HTMLElement>("#found-fields");
  const all = document.querySelector<HTMLButtonElement>("#open-all");
  const groups = [...form.querySelectorAll<HTMLDetailsElement>("details.fold")];
  const fields = groups.flatMap((group) => [...group.querySelectorAll<HTMLElement>(".field")]);
  if (!input || !status || !all) return;
  // Groups that were open before the search are open after it.
  let before: boolean[] | undefined;
  const told = new Map(fields.map((field) => [field, `${field.textContent} ${field.querySelector("[data-path]")?.getAttribute("data-path") ?? ""}`.toLowerCase().replaceAll("_", " ")]));

  const find = () => {
    const words = input.value.toLowerCase().replaceAll("_", " ").split(/\s+/).filter((word) => word !== "");
    if (words.length === 0) {
      for (const part of form.querySelectorAll<HTMLElement>("[data-unmatched]")) part.removeAttribute("data-unmatched");
      if (before) groups.forEach((group, at) => (group.open = before?.[at] ?? true));
      before = undefined;
      status.textContent = "";
      return;
    }
    before ??= groups.map((group) => group.open);
    let found = 0;
    for (const field of fields) {
      const fits = words.every((word) => told.get(field)?.includes(word));
      field.toggleAttribute("data-unmatched", !fits);
      if (fits) found += 1;
    }
    for (const part of [...groups, ...form.querySelectorAll<HTMLElement>("details.fold fieldset.fields")]) {
      const has = part.querySelector(".field:not([data-unmatched])") !== null;
      part.toggleAttribute("data-unmatched", !has);
      if (has && part instanceof HTMLDetailsElement) part.open = true;
    }
    status.textContent = found === 0 ? "No field has these words." : `${found} field${found === 1 ? "" : "s"}.`;
  };
  input.addEventListener("input", (event) => {
    // The form takes every other input for a change of the config.
    event.stopPropagation();
    find();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  all.addEventListener("click", () => {
    const opens = groups.some((group) => !group.open);
    for (const group of groups) group.open = opens;
    all.textContent = opens ? "Close all groups" : "Open all groups";
  });
}
