// Picks metrics with checkboxes: they stay in the order in which they were picked.
document.addEventListener("change", (event) => {
  const box = event.target;
  if (!(box instanceof HTMLInputElement) || !box.dataset.picks) return;
  const field = document.getElementById(box.dataset.picks);
  if (!(field instanceof HTMLInputElement)) return;
  const others = field.value.split(",").map((name) => name.trim()).filter((name) => name !== "" && name !== box.value);
  field.value = [...others, ...(box.checked ? [box.value] : [])].join(",");
});
