// Keeps `#view` fresh while somebody looks. Elements of `data-follow` name runs, whose events say when there is something
// new; `data-every` names the seconds after which to look again where no run tells. The page itself is asked for, its charts
// only from the step on that they lack, and what differs is put in place.
import { say } from "../say";
import { watch } from "../live";
import { tell } from "../news";
import { pageAt, take } from "../page";

/** Streams that a page keeps open: a browser has six connections to a server, for all of its tabs. */
const streams = 3;
/** Milliseconds between two looks, however fast steps end. */
const pause = 2000;
/** Kinds of events after which a page of a run is another one. */
const telling = new Set(["step_finished", "state", "renamed"]);

const view = document.querySelector<HTMLElement>("#view")!;
const step = () => view.dataset.step;
const heads = (page: ParentNode) =>
  [...page.querySelectorAll("#view figure.chart")].map((figure) => [figure.id, figure.querySelector("thead")?.textContent].join()).join("\n");

let busy = false;
let late = false;
let failed = false;

async function newest(): Promise<Document | undefined> {
  const from = step();
  const page = await pageAt(location.href, from === undefined ? {} : { "lyceum-from-step": from });
  // Curves that came or went have no beginning here: then everything is needed.
  const isWhole = from === undefined || !page || heads(page) === heads(document);
  return isWhole ? page : pageAt(location.href);
}

async function refresh(): Promise<void> {
  if (busy) {
    late = true;
    return;
  }
  busy = true;
  try {
    const page = await newest();
    if (page) {
      tell(page);
      take(page, "head", "view");
      follow();
    } else if (!failed) {
      say("This page is not to be had any more, or you are logged out. Load it anew to see which.", true);
    }
    failed = !page;
  } catch {
    if (!failed) say("The server does not answer; the page goes on trying.", true);
    failed = true;
  }
  busy = false;
  if (!late) return;
  late = false;
  await refresh();
}

const watched = new Map<string, () => void>();

function follow(): void {
  const named = [view, ...view.querySelectorAll<HTMLElement>("[data-follow]")].filter((one) => one.dataset.follow);
  const wanted = new Map(named.slice(0, streams).map((one) => [one.dataset.follow ?? "", Number(one.dataset.lastEvent)]));
  for (const [run, stop] of watched) {
    if (wanted.has(run)) continue;
    stop();
    watched.delete(run);
  }
  for (const [run, last] of wanted) {
    if (watched.has(run)) continue;
    const stop = watch(run, last, (events) => events.some((event) => telling.has(event.kind)) && void refresh(), pause);
    watched.set(run, stop);
  }
}

follow();
if (view.dataset.every) {
  setInterval(() => {
    if (!document.hidden) void refresh();
  }, Number(view.dataset.every) * 1000);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) void refresh();
  });
}
