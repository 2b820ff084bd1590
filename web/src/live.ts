// Events of a run as they happen. While nobody looks at the page the stream is closed; it goes on after the last event
// that was seen. A burst of events is handed over at once.

export interface RunEvent {
  number: number;
  kind: string;
  data: Record<string, unknown>;
  created_at: string;
}

const kinds = ["created", "step_started", "step_finished", "planned", "state", "renamed"];

/** Calls `happened` with new events of `run` after number `last`, at most once each `pause` milliseconds. */
export function watch(run: string, last: number, happened: (events: RunEvent[]) => void, pause = 500): void {
  let source: EventSource | undefined;
  let waiting: RunEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;
  const flush = () => {
    timer = undefined;
    const events = waiting;
    waiting = [];
    if (events.length > 0) happened(events);
  };
  const hear = (message: MessageEvent<string>) => {
    const event: RunEvent = JSON.parse(message.data);
    last = event.number;
    waiting.push(event);
    timer ??= setTimeout(flush, pause);
  };
  const open = () => {
    if (over || source || document.hidden) return;
    source = new EventSource(`/api/v1/runs/${run}/events?after=${last}`);
    for (const kind of kinds) source.addEventListener(kind, hear);
    // A stream that ended for good (204: the run is over) is left closed by the browser.
    source.addEventListener("error", () => {
      if (source?.readyState === EventSource.CLOSED) over = true;
    });
  };
  const close = () => {
    source?.close();
    source = undefined;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}
