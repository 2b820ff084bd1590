//! Reading tickets.

use apalis::{
    layers::WorkerBuilderExt as _,
    prelude::{BackendExt as _, BoxDynError, WorkerBuilder, WorkerError},
};
use apalis_postgres::{Config, InsertEvent, PostgresStorage};
use sqlx::PgPool;
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use uuid::Uuid;

use super::{Lane, apalis_tables::ANNOUNCED, ticket::Ticket, wake::Wake};
use crate::listener::{Listener, Word, Words};

/// Word of tickets of one lane, for one reader at a time.
#[derive(Clone, Debug)]
pub struct Announcements(Arc<Mutex<Words<()>>>);

/// Subscribes to the announcements of a lane's tickets.
pub fn announcements(listener: &mut Listener, lane: Lane) -> Announcements {
    let is_ours = move |payload: &str| {
        let event: InsertEvent = serde_json::from_str(payload).ok()?;
        (event.job_type == lane.queue()).then_some(())
    };
    Announcements(Arc::new(Mutex::new(listener.subscribe(ANNOUNCED, is_ours))))
}

impl Announcements {
    /// Whether there was any; wakes the task at the next one.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> bool {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut any = false;
        // Until there is none: only then is the waker armed.
        while let Poll::Ready(Some(Word::Said(()) | Word::Missed)) = words.poll_recv(cx) {
            any = true;
        }
        any
    }
}

/// How one lane is read.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The lane.
    pub lane: Lane,
    /// What the worker is called.
    pub name: String,
    /// Tickets redeemed at once.
    pub slots: usize,
    /// Between signs of life.
    pub heartbeat: Duration,
    /// Between looks that nothing announced.
    pub tick: Duration,
}

impl Reader {
    /// Calls `redeem` for each ticket, until `stop` ends or the queue can no longer be read.
    ///
    /// # Errors
    /// When the queue can no longer be read: apalis' reader does not survive a failed query.
    pub async fn read<R, F>(
        &self,
        db: &PgPool,
        announcements: &Announcements,
        redeem: R,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), WorkerError>
    where
        R: Fn() -> F + Clone + Send + Sync + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        // apalis takes a job for held as long as anybody of its holder's name lives, so no name is used twice.
        let name = format!("{}-{}", self.name, Uuid::now_v7());
        let storage = PostgresStorage::<Ticket>::new(db)
            .with_config(self.config())
            .poll_with_strategy(Wake::new(announcements.clone(), self.tick));
        // A ticket never fails: what could not be done is known to the work table, and a second try would be one too many.
        let redeem = move |_: Ticket| {
            let redeemed = redeem();
            async move {
                redeemed.await;
                Ok::<(), BoxDynError>(())
            }
        };
        let worker = WorkerBuilder::new(name.as_str())
            .backend(storage)
            .concurrency(self.slots)
            .build(redeem);
        let stopped = async move {
            stop.await;
            Ok::<(), io::Error>(())
        };
        worker.run_until(stopped).await
    }

    /// One ticket at a time, since apalis neither renews its reader's heartbeat nor acknowledges while fetched tickets wait in
    /// a buffer.
    fn config(&self) -> Config {
        Config::default()
            .queue(self.lane.queue())
            .batch_size(1)
            .heartbeat_interval(self.heartbeat)
            .missed_heartbeats(6)
    }
}
