// The page of a run: its verdict, its held-out accuracy and its progress, while it goes on.
import { island } from "../island";
import { watch } from "../live";
import { tell } from "../news";
import { pageAt, take, takePart } from "../page";
import { atMostEvery } from "../pause";
import { say } from "../say";

const data = island<{ run: string; state: string; last_event: number }>();
const address = `/runs/${data.run}`;

const complain = () => say("The update could not be loaded; retrying.", true);

/** Updates the run's own information: state, actions and progress. */
async function refresh(): Promise<void> {
  const page = await pageAt(location.href);
  if (page) take(page, "head", "verdict", "now", "changes");
}

async function refreshProgress(): Promise<void> {
  const part = await pageAt(`${address}/now`);
  if (!part) return;
  takePart(part, "now");
  document.title = document.title.replace(/^\d+\//, `${document.querySelector("#step")?.textContent}/`);
}

/** Updates the verdict, which several queries make, so not with every step. */
const verdict = atMostEvery(5000, () => {
  pageAt(`${address}/verdict`).then((part) => part && takePart(part, "verdict"), complain);
});

if (data.state === "running" || data.state === "paused") {
  watch(`runs/${data.run}`, data.last_event, (events) => {
    const changes = events.some((event) => event.kind === "state" || event.kind === "renamed");
    (changes ? refresh() : refreshProgress()).catch(complain);
    if (events.some((event) => event.kind === "step_finished")) verdict();
  }, 1000);
}

/** Milliseconds between two looks for results on held-out problems, which come after the steps that they measure. */
const look = 5000;
const isMeasuring = () => document.querySelector("#held-out [data-open]") !== null;

const measuring = setInterval(() => {
  if (!isMeasuring()) return clearInterval(measuring);
  if (document.hidden) return;
  pageAt(`${address}/held-out${location.search}`).then((part) => {
    if (!part) return;
    tell(part);
    takePart(part, "held-out");
    verdict();
  }, complain);
}, look);
