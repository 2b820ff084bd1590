//! Listens for due executions and has each planned by one task at a time; those that this server cannot plan are left to
//! servers of other releases.

use lyceum_core::id::ExecutionId;
use lyceum_store::listener::{Notification, Notifications};
use lyceum_store::{Store, plan};
use sqlx::PgPool;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::coordinator::planner::Planner;

/// Plans until `stop`, on notifications from `notifications` and every `every`, in case one was lost.
pub(super) async fn run(
    store: Store,
    planner: Arc<Planner>,
    mut notifications: Notifications<ExecutionId>,
    every: Duration,
    stop: CancellationToken,
) {
    let mut planning = JoinSet::new();
    // Executions being planned; true if notified again meanwhile.
    let mut busy: HashMap<ExecutionId, bool> = HashMap::new();
    let mut look = tokio::time::interval(every);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let heard: Vec<ExecutionId> = tokio::select! {
            () = stop.cancelled() => break,
            Some(notification) = notifications.recv() => match notification {
                Notification::Received(id) => vec![id],
                Notification::Missed => due(&store).await,
            },
            _ = look.tick() => {
                planner.forget_ended().await;
                due(&store).await
            }
            Some(planned) = planning.join_next(), if !planning.is_empty() => match planned {
                Ok(id) if busy.remove(&id) == Some(true) => vec![id],
                _ => Vec::new(),
            },
        };
        for id in heard {
            if let Some(again) = busy.get_mut(&id) {
                *again = true;
                continue;
            }
            busy.insert(id, false);
            let planner = Arc::clone(&planner);
            planning.spawn(async move {
                planner.plan(id).await;
                id
            });
        }
    }
    while planning.join_next().await.is_some() {}
}

async fn due(store: &Store) -> Vec<ExecutionId> {
    plan::due(store.pool()).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot check for due executions");
        Vec::new()
    })
}

/// The release of this server.
const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// When each was refused last.
#[derive(Debug, Default)]
pub(super) struct Refused(Mutex<HashMap<ExecutionId, Instant>>);

impl Refused {
    /// Whether `id` was refused so lately that it need not be tried: while one server tries, no other can.
    pub(super) fn lately(&self, id: ExecutionId) -> bool {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get(&id).is_some_and(|last| last.elapsed() < plan::REFUSED_EVERY)
    }

    /// Records why `id` cannot be planned here, for its page, and warns the first time.
    pub(super) async fn refuse(&self, db: &PgPool, id: ExecutionId, reason: &str) {
        let before = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Instant::now());
        if before.is_none() {
            tracing::warn!(
                execution.id = %id,
                "this server of release {RELEASE} cannot plan execution {id} and leaves it to another: {reason}",
            );
        }
        if let Err(error) = plan::refuse(db, id, RELEASE, reason).await {
            tracing::warn!(execution.id = %id, %error, "cannot record that execution {id} cannot be planned here");
        }
    }
}
