#![doc = include_str!("queue/README.md")]

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use apalis::layers::WorkerBuilderExt as _;
use apalis::prelude::{
    BackendExt as _, BoxDynError, PollSnapshot, PollStrategy, TaskBuilder, WorkerBuilder, WorkerError,
};
use apalis_postgres::queries::push_tasks;
use apalis_postgres::{Config, InsertEvent, PgTask, PostgresStorage};
use lyceum_core::work::{Sampler, WorkKind};
use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgPool};
use tokio::time::{Instant, Sleep, sleep};
use uuid::Uuid;

use crate::listener::{Listener, Notification, Notifications};
use crate::{Result, StoreError};

/// Brings apalis' schema up to date. Must not run concurrently.
pub(crate) async fn migrate(db: &PgPool) -> Result<()> {
    Ok(apalis_postgres::PostgresStorage::<()>::setup(db).await?)
}

// SQL on apalis' tables where its crate has no function: using up a ticket in the statement of a claim, and removing
// rows it would keep for ever. Its statistics could count tickets, but scan the table some twenty times.

/// The channel on which apalis' trigger announces jobs.
const ANNOUNCED: &str = "apalis::job::insert";

/// Deletes a ticket that was not fetched yet from the queue named by the parameter `queue`, if `condition` holds.
pub(crate) fn use_up(queue: &str, condition: &str) -> String {
    format!(
        "DELETE FROM apalis.jobs WHERE id = (
             SELECT id FROM apalis.jobs
             WHERE {condition} AND job_type = {queue} AND status = 'Pending' AND run_at <= now()
             ORDER BY priority DESC, run_at
             LIMIT 1
             FOR UPDATE SKIP LOCKED
         )"
    )
}

/// Tickets of a lane that may still reach a slot.
async fn out(db: &mut PgConnection, lane: Lane) -> Result<i64> {
    let out = "SELECT count(*) FROM apalis.jobs WHERE job_type = $1 AND status IN ('Pending', 'Queued')";
    Ok(sqlx::query_scalar(out).bind(lane.queue()).fetch_one(db).await?)
}

/// Removes used tickets and the queue's rows of workers that have left.
pub async fn tidy(db: &PgPool) -> Result<()> {
    sqlx::query(
        "DELETE FROM apalis.jobs WHERE status IN ('Done', 'Failed', 'Killed') AND done_at < now() - interval '1 minute'",
    )
    .execute(db)
    .await?;
    // A ticket of a dead worker is useless: top_up has issued another.
    sqlx::query(
        "DELETE FROM apalis.jobs WHERE status IN ('Queued', 'Running') AND lock_at < now() - interval '1 minute'
         AND lock_by IN (SELECT id FROM apalis.workers WHERE last_seen < now() - interval '1 minute')",
    )
    .execute(db)
    .await?;
    sqlx::query(
        "DELETE FROM apalis.workers w WHERE last_seen < now() - interval '10 minutes'
         AND NOT EXISTS (SELECT FROM apalis.jobs j WHERE j.lock_by = w.id)",
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The purpose of a slot: verification runs on any core, what a server generates takes no more than waiting, other work
/// shares a worker's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// `verify`.
    Verifier,
    /// `rollout`, `update`, `evolve` and `benchmark` on the engine.
    Engine,
    /// `rollout` and `benchmark` on a server.
    Served,
}

impl Lane {
    pub const ALL: [Self; 3] = [Self::Verifier, Self::Engine, Self::Served];

    /// The lane of work of a kind whose tokens `sampler` generates.
    pub fn of(kind: WorkKind, sampler: Sampler) -> Self {
        match (kind, sampler) {
            (WorkKind::Verify, _) => Self::Verifier,
            (WorkKind::Rollout | WorkKind::Benchmark, Sampler::Served) => Self::Served,
            (WorkKind::Rollout | WorkKind::Update | WorkKind::Evolve | WorkKind::Benchmark, _) => Self::Engine,
        }
    }

    /// The queue's name.
    pub fn queue(self) -> &'static str {
        match self {
            Self::Verifier => "lyceum.verifier",
            Self::Engine => "lyceum.engine",
            Self::Served => "lyceum.served",
        }
    }

    /// What generates the tokens of its items.
    pub fn sampler(self) -> Sampler {
        match self {
            Self::Verifier | Self::Engine => Sampler::Engine,
            Self::Served => Sampler::Served,
        }
    }

    /// The kinds of work of this lane.
    pub fn kinds(self) -> impl Iterator<Item = WorkKind> {
        WorkKind::ALL.into_iter().filter(move |kind| Self::of(*kind, self.sampler()) == self)
    }
}

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
    fn poll(&self, cx: &mut Context<'_>) -> bool {
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
        let worker = WorkerBuilder::new(name.as_str()).backend(storage).concurrency(self.slots).build(redeem);
        let stopped = async move {
            stop.await;
            Ok::<(), io::Error>(())
        };
        worker.run_until(stopped).await
    }

    /// One ticket at a time, since apalis neither renews its reader's heartbeat nor acknowledges while fetched tickets
    /// wait in a buffer.
    fn config(&self) -> Config {
        Config::default().queue(self.lane.queue()).batch_size(1).heartbeat_interval(self.heartbeat).missed_heartbeats(6)
    }
}

/// Maximum number of tickets issued at once; the next sweep issues more.
const TOP_UP: i64 = 1000;

/// Lets a slot look for one item of a lane, without saying which.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Ticket {}

impl Ticket {
    /// A job that is tried once, since [`top_up`] replaces lost tickets. It has been due since 1970: apalis would use
    /// this machine's clock, but the database compares with its own.
    fn task(self) -> Result<PgTask> {
        let args = serde_json::to_vec(&self).map_err(StoreError::json("ticket"))?;
        Ok(TaskBuilder::new(args).max_attempts(1).run_at_timestamp(0).build())
    }
}

/// Issues `count` tickets. In a transaction they appear when it commits.
pub async fn issue(db: &mut PgConnection, lane: Lane, count: u32) -> Result<()> {
    if count > 0 {
        let tasks = (0..count).map(|_| Ticket {}.task()).collect::<Result<_>>()?;
        push_tasks(db, lane.queue(), tasks).await?;
    }
    Ok(())
}

/// Issues tickets if there are fewer than waiting items: for items that have become due after a failure, and for
/// tickets that were lost with a worker or that a worker could not use. Returns how many were missing.
pub async fn top_up(db: &mut PgConnection, lane: Lane) -> Result<u32> {
    let kinds: Vec<WorkKind> = lane.kinds().collect();
    let waiting: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM work w JOIN executions e ON e.id = w.execution_id
         WHERE w.state = 'ready' AND w.kind = ANY($1) AND w.sampler = $2 AND w.run_at <= now() AND e.state = 'running'",
    )
    .bind(kinds)
    .bind(lane.sampler())
    .fetch_one(&mut *db)
    .await?;
    if waiting == 0 {
        return Ok(0);
    }
    let out = out(db, lane).await?;
    let missing = u32::try_from((waiting - out).clamp(0, TOP_UP)).unwrap_or(0);
    issue(db, lane, missing).await?;
    Ok(missing)
}

/// Polls whenever a ticket is announced, and at a fixed interval in case announcements are lost. apalis' own
/// `poll_with_interval` re-arms its timer without polling it, so nothing wakes it again.
struct Wake {
    announcements: Announcements,
    every: Duration,
    alarm: Pin<Box<Sleep>>,
}

impl Wake {
    fn new(announcements: Announcements, every: Duration) -> Self {
        Self { announcements, every, alarm: Box::pin(sleep(every)) }
    }
}

impl PollStrategy for Wake {
    fn poll_drive(&mut self, cx: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        let mut is_due = self.announcements.poll(cx);
        // Polling again after the reset arms the waker.
        while self.alarm.as_mut().poll(cx).is_ready() {
            is_due = true;
            let next = Instant::now() + self.every;
            self.alarm.as_mut().reset(next);
        }
        if is_due { Poll::Ready(Some(())) } else { Poll::Pending }
    }
}
