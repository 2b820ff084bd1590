// What modules of a page tell each other when the page has become newer.

const happened = "lyceum:news";

/** Tells everyone that what stands on `page` is news. */
export function tell(page: Document): void {
  dispatchEvent(new CustomEvent<Document>(happened, { detail: page }));
}

/** Calls `listener` with each page that brings news. */
export function onNews(listener: (page: Document) => void): void {
  addEventListener(happened, (event) => listener((event as CustomEvent<Document>).detail));
}
