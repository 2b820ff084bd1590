// Keeps `#view` up to date while the page is visible. `data-follow` names runs and evaluations whose events trigger an
// update; `data-every` is a polling interval in seconds. An update requests the page itself, with charts only from the
// first missing step on, and applies only what differs.
import { say } from "../say";
import { watch } from "../live";
import { tell } from "../news";
import { pageAt, take } from "../page";

/** Maximum number of open streams: a browser has six connections per server, shared by all tabs. */
const streams = 3;
/** Minimum milliseconds between two updates. */
const pause = 2000;
/** Kinds of run events that trigger an update; all events of an evaluation do, since there are few. */
const telling = new Set(["step_finished", "state", "renamed", "measuring", "not_measured"]);

const view = document.querySelector<HTMLElement>("#view")!;
const step = () => view.dataset.step;
const heads = (page: ParentNode) =>
  [...page.querySelectorAll("#view figure.chart")].map((figure) => [figure.id, figure.querySelector("thead")?.textContent].join()).join("\n");

let busy = false;
let late = false;
let failed = false;

/** Resolves once the page is visible: a hidden page requests nothing. */
const visible = () =>
  new Promise<void>((resolve) => {
    if (document.hidden) document.addEventListener("visibilitychange", () => resolve(), { once: true });
    else resolve();
  });

async function newest(): Promise<Document | undefined> {
  await visible();
  const from = step();
  const page = await pageAt(location.href, from === undefined ? {} : { "lyceum-from-step": from });
  // For curves that appeared or disappeared the earlier points are missing, so load everything.
  const isEnough = from === undefined || !page || heads(page) === heads(document);
  if (isEnough) return page;
  await visible();
  return pageAt(location.href);
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
      say("This page no longer exists, or you are logged out. Reload to find out.", true);
    }
    failed = !page;
  } catch {
    if (!failed) say("The server does not respond; retrying.", true);
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
if (view.dataset.every) setInterval(() => void refresh(), Number(view.dataset.every) * 1000);
