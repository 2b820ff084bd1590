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
use crate::listener::{Listener, Notification, Notifications};

/// Announcements of a lane's tickets, for one reader at a time.
#[derive(Clone, Debug)]
pub struct Announcements(Arc<Mutex<Notifications<()>>>);

/// Subscribes to the announcements of a lane's tickets.
pub fn announcements(listener: &mut Listener, lane: Lane) -> Announcements {
    let is_ours = move |payload: &str| {
        let event: InsertEvent = serde_json::from_str(payload).ok()?;
        (event.job_type == lane.queue()).then_some(())
    };
    Announcements(Arc::new(Mutex::new(listener.subscribe(ANNOUNCED, is_ours))))
}

impl Announcements {
    /// Whether there was an announcement; wakes the task at the next one.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> bool {
        let mut notifications = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut any = false;
        // Drains the channel: only then is the waker armed.
        while let Poll::Ready(Some(Notification::Received(()) | Notification::Missed)) = notifications.poll_recv(cx) {
            any = true;
        }
        any
    }
}

/// Settings for reading a lane.
#[derive(Clone, Debug)]
pub struct Reader {
    pub lane: Lane,
    /// The worker's name.
    pub name: String,
    /// Number of tickets redeemed concurrently.
    pub slots: usize,
    /// Time between heartbeats.
    pub heartbeat: Duration,
    /// Time between polls without an announcement.
    pub tick: Duration,
}

impl Reader {
    /// Calls `redeem` for each ticket until `stop` ends or the queue can no longer be read.
    ///
    /// # Errors
    /// The queue can no longer be read: apalis' reader does not survive a failed query.
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
        // apalis considers a job held as long as any worker with its holder's name is alive, so no name is used twice.
        let name = format!("{}-{}", self.name, Uuid::now_v7());
        let storage = PostgresStorage::<Ticket>::new(db)
            .with_config(self.config())
            .poll_with_strategy(Wake::new(announcements.clone(), self.tick));
        // A ticket never fails: failures are recorded in the work table, and apalis must not retry them.
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

    /// One ticket at a time, since apalis neither renews its reader's heartbeat nor acknowledges while fetched tickets
    /// wait in a buffer.
    fn config(&self) -> Config {
        Config::default()
            .queue(self.lane.queue())
            .batch_size(1)
            .heartbeat_interval(self.heartbeat)
            .missed_heartbeats(6)
    }
}
