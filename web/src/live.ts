// Live events of a run or an evaluation. The stream is closed while the page is hidden and resumes after the last event
// seen. Bursts of events are delivered together, and never to a hidden page.

export interface ExecutionEvent {
  number: number;
  kind: string;
  data: Record<string, unknown>;
  created_at: string;
}

const kinds = ["created", "step_started", "step_finished", "planned", "state", "renamed", "measuring", "not_measured", "measured"];
/** Milliseconds before retrying a stream that the server refused; browsers retry only broken connections. */
const again = 15_000;

const isOver = (event: ExecutionEvent): boolean =>
  event.kind === "state" && ["completed", "failed", "cancelled"].includes(String(event.data.state));

/**
 * Calls `happened` with new events of `what` (`runs/ID` or `evaluations/ID`) after number `last`, at most once every
 * `pause` milliseconds, until it ends or the returned function is called.
 */
export function watch(what: string, last: number, happened: (events: ExecutionEvent[]) => void, pause = 500): () => void {
  let source: EventSource | undefined;
  let waiting: ExecutionEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let over = false;
  const flush = () => {
    timer = undefined;
    const events = waiting;
    waiting = [];
    if (events.length > 0) happened(events);
  };
  const hear = (message: MessageEvent<string>) => {
    const event: ExecutionEvent = JSON.parse(message.data);
    last = event.number;
    waiting.push(event);
    timer ??= setTimeout(flush, pause);
    if (!isOver(event)) return;
    over = true;
    disconnect();
  };
  const disconnect = () => {
    clearTimeout(retry);
    source?.close();
    source = undefined;
  };
  const close = () => {
    disconnect();
    clearTimeout(timer);
    timer = undefined;
  };
  const open = () => {
    if (document.hidden) return;
    if (waiting.length > 0) timer ??= setTimeout(flush, pause);
    if (over || source) return;
    source = new EventSource(`/api/v1/${what}/events?after=${last}`);
    for (const kind of kinds) source.addEventListener(kind, hear);
    source.addEventListener("error", () => {
      if (source?.readyState !== EventSource.CLOSED) return;
      disconnect();
      retry = setTimeout(open, again);
    });
  };
  const look = () => (document.hidden ? close() : open());
  document.addEventListener("visibilitychange", look);
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
  return () => {
    over = true;
    close();
    document.removeEventListener("visibilitychange", look);
    removeEventListener("pagehide", close);
    removeEventListener("pageshow", open);
  };
}
