// Keeps `#view` fresh while somebody looks. Elements of `data-follow` name runs and evaluations, whose events say when there
// is something new; `data-every` names the seconds after which to look again where none tells. The page itself is asked for,
// its charts only from the step on that they lack; only what differs is sent, and put in place.
import { say } from "../say";
import { watch } from "../live";
import { tell } from "../news";
import { newestPage, take } from "../page";

/** Streams that a page keeps open: a browser has six connections to a server, for all of its tabs. */
const streams = 3;
/** Milliseconds between two looks, however fast steps end. */
const pause = 2000;
/** Kinds of events after which a page is another one; each of an evaluation's is told of, since it has few. */
const telling = new Set(["step_finished", "state", "renamed", "measuring", "not_measured"]);

const view = document.querySelector<HTMLElement>("#view")!;
const step = () => view.dataset.step;
const heads = (page: ParentNode) =>
  [...page.querySelectorAll("#view figure.chart")].map((figure) => [figure.id, figure.querySelector("thead")?.textContent].join()).join("\n");

let busy = false;
let late = false;
let failed = false;

async function newest(): Promise<Document | undefined> {
  const from = step();
  const page = await newestPage(from === undefined ? {} : { "lyceum-from-step": from });
  // Curves that came or went have no beginning here: then everything is needed.
  const isEnough = from === undefined || !page || heads(page) === heads(document);
  return isEnough ? page : newestPage();
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
  for (const [what, stop] of watched) {
    if (wanted.has(what)) continue;
    stop();
    watched.delete(what);
  }
  for (const [what, last] of wanted) {
    if (watched.has(what)) continue;
    const tells = (kind: string) => what.startsWith("evaluations/") || telling.has(kind);
    const stop = watch(what, last, (events) => events.some((event) => tells(event.kind)) && void refresh(), pause);
    watched.set(what, stop);
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
