// Notifies a page's modules of a newer version of the page.

const happened = "lyceum:news";

/** Announces `page` to all listeners. */
export function tell(page: Document): void {
  dispatchEvent(new CustomEvent<Document>(happened, { detail: page }));
}

/** Calls `listener` with each newer version of the page. */
export function onNews(listener: (page: Document) => void): void {
  addEventListener(happened, (event) => listener((event as CustomEvent<Document>).detail));
}
