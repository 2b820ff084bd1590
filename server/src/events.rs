//! Distributes events to watchers: each event is read once for all watchers of its run.

use futures::{Stream, stream};
use lyceum_core::id::ExecutionId;
use lyceum_store::Result;
use lyceum_store::event::{self, Event};
use lyceum_store::listener::{Notification, Notifications};
use sqlx::PgPool;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// Events a slow reader may lag behind before it reads from the database instead.
const BACKLOG: usize = 256;
/// Events read at once.
const BATCH: i64 = 500;

#[derive(Debug)]
struct Watched {
    /// The number of the last event sent.
    last: i64,
    out: broadcast::Sender<Arc<Event>>,
}

/// Sends events to all watchers of their run.
#[derive(Clone, Debug)]
pub(crate) struct EventHub {
    pool: PgPool,
    watched: Arc<Mutex<HashMap<ExecutionId, Watched>>>,
}

impl EventHub {
    /// A hub; it sends nothing until it [runs](Self::run).
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool, watched: Arc::default() }
    }

    /// The number of open streams.
    pub(crate) fn streams(&self) -> usize {
        self.lock().values().map(|watched| watched.out.receiver_count()).sum()
    }

    /// Sends events until `stop`, on notifications from `notifications` and every `look`, in case one was lost.
    pub(crate) async fn run(
        self,
        mut notifications: Notifications<ExecutionId>,
        look: Duration,
        stop: CancellationToken,
    ) {
        let mut ticks = interval(look);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let outcome = tokio::select! {
                () = stop.cancelled() => {
                    // All streams end without a sender.
                    self.lock().clear();
                    return;
                }
                _ = ticks.tick() => self.look().await,
                Some(notification) = notifications.recv() => match notification {
                    Notification::Received(execution) => self.send(execution).await,
                    Notification::Missed => self.look().await,
                },
            };
            if let Err(error) = outcome {
                tracing::warn!(%error, "cannot read events; trying again");
            }
        }
    }

    /// Sends the new events of all watched runs.
    async fn look(&self) -> Result<()> {
        let watched: Vec<ExecutionId> = {
            let mut all = self.lock();
            all.retain(|_, watched| watched.out.receiver_count() > 0);
            all.keys().copied().collect()
        };
        for (execution, last) in event::last_numbers(&self.pool, &watched).await? {
            if self.lock().get(&execution).is_some_and(|watched| watched.last < last) {
                self.send(execution).await?;
            }
        }
        Ok(())
    }

    async fn send(&self, execution: ExecutionId) -> Result<()> {
        loop {
            let Some(last) = self.lock().get(&execution).map(|watched| watched.last) else { return Ok(()) };
            let events = event::after(&self.pool, execution, last, BATCH).await?;
            let full = events.len() == BATCH as usize;
            if let Some(watched) = self.lock().get_mut(&execution) {
                for event in events {
                    watched.last = event.number;
                    // If nobody listens any more, the next check forgets the run.
                    let _ = watched.out.send(Arc::new(event));
                }
            }
            if !full {
                return Ok(());
            }
        }
    }

    /// The past and future events of `execution` after number `after`, up to one that ends the run.
    pub(crate) async fn watch(
        &self,
        execution: ExecutionId,
        after: i64,
    ) -> Result<impl Stream<Item = Result<Arc<Event>>> + use<>> {
        let last = event::last_numbers(&self.pool, &[execution]).await?.first().map_or(0, |(_, last)| *last);
        let live = {
            let mut all = self.lock();
            let watched = all.entry(execution).or_insert_with(|| Watched { last, out: broadcast::channel(BACKLOG).0 });
            watched.out.subscribe()
        };
        let reader = Reader {
            pool: self.pool.clone(),
            execution,
            after,
            read: VecDeque::new(),
            // Earlier events are in the database only.
            behind: true,
            live,
            over: false,
        };
        Ok(stream::unfold(reader, |mut reader| async move {
            let event = reader.next().await?;
            Some((event, reader))
        }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ExecutionId, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A watcher.
struct Reader {
    pool: PgPool,
    execution: ExecutionId,
    after: i64,
    read: VecDeque<Arc<Event>>,
    behind: bool,
    live: broadcast::Receiver<Arc<Event>>,
    over: bool,
}

impl Reader {
    async fn next(&mut self) -> Option<Result<Arc<Event>>> {
        if self.over {
            return None;
        }
        loop {
            if let Some(event) = self.read.pop_front() {
                self.after = event.number;
                self.over = ends(&event);
                return Some(Ok(event));
            }
            if self.behind {
                match event::after(&self.pool, self.execution, self.after, BATCH).await {
                    Ok(events) => {
                        self.behind = events.len() == BATCH as usize;
                        self.read.extend(events.into_iter().map(Arc::new));
                        if !self.read.is_empty() {
                            continue;
                        }
                    }
                    Err(error) => {
                        self.over = true;
                        return Some(Err(error));
                    }
                }
            }
            match self.live.recv().await {
                // Numbers have no gaps, so a jump means that events were missed.
                Ok(event) if event.number > self.after + 1 => self.behind = true,
                Ok(event) if event.number == self.after + 1 => self.read.push_back(event),
                Ok(_) => {}
                Err(RecvError::Lagged(_)) => self.behind = true,
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// Whether this is the last event, unless a failure is retried.
pub(crate) fn ends(event: &Event) -> bool {
    let state = event.data["state"].as_str();
    event.kind == "state" && matches!(state, Some("completed" | "failed" | "cancelled"))
}
