// Files that a page makes.

/** Offers `parts` as a file. */
export function download(name: string, type: string, parts: BlobPart[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Names may have been chosen to be taken for formulas by a spreadsheet. */
const guarded = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);

/** A line of a CSV file (RFC 4180): texts in quotes, numbers as they are, nothing where there is none. */
export function csvLine(cells: (string | number | null | undefined)[]): string {
  const cell = (value: string | number | null | undefined) =>
    typeof value === "string" ? `"${guarded(value).replaceAll('"', '""')}"` : String(value ?? "");
  return cells.map(cell).join(",");
}
