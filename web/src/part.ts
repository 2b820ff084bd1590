// Parts of a page that the server renders anew.

/** Replaces what is in the element called `id` by what the server now says at `path`. */
export async function replacePart(id: string, path: string): Promise<void> {
  const old = document.getElementById(id);
  const response = await fetch(path, { headers: { accept: "text/html" } }).catch(() => undefined);
  if (!old || !response?.ok || response.redirected) return;
  const parsed = new DOMParser().parseFromString(await response.text(), "text/html");
  old.replaceChildren(...parsed.body.childNodes);
}
