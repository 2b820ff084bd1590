//! Plans executions and cleans up after workers. Any number of servers can coordinate on one database: the lock on an
//! execution's row lets one of them plan it at a time.

mod dispatch;
mod housekeeping;
mod planner;
pub(crate) mod step_log;

use futures::future::BoxFuture;
use lyceum_core::config::RunConfig;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::Registry;
use lyceum_store::artifact::ArtifactStore;
use lyceum_store::listener::Listener;
use lyceum_store::{Store, StoreError, event};
use sqlx::{PgConnection, PgPool};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::planner::Planner;
use crate::lab::Pace;

/// Begins what a run's config schedules after a step, in the transaction that ends that step.
pub type BeginScheduled = for<'a> fn(
    &'a mut PgConnection,
    (&'a PgPool, &'a Registry),
    ExecutionId,
    &'a RunConfig,
    u32,
) -> BoxFuture<'a, Result<(), StoreError>>;

/// A running coordinator.
#[derive(Debug)]
pub struct Coordinator {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Coordinator {
    /// Starts coordinating with the recipes of `registry`. Notifications arrive once `listener` is started.
    pub fn start(
        store: Store,
        artifacts: ArtifactStore,
        registry: Registry,
        begin_scheduled: BeginScheduled,
        pace: Pace,
        listener: &mut Listener,
    ) -> Self {
        let notifications = event::to_be_planned(listener);
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let planner = Arc::new(Planner::new(store.clone(), registry, begin_scheduled));
        tasks.spawn(dispatch::run(store.clone(), planner, notifications, pace.look, stop.clone()));
        tasks.spawn(housekeeping::renew_results(store.clone(), pace.tidy, stop.clone()));
        tasks.spawn(housekeeping::run(store, pace, stop.clone()));
        tasks.spawn(housekeeping::collect(artifacts, pace.tidy, stop.clone()));
        tasks.close();
        Self { stop, tasks }
    }

    /// Stops. A plan in progress is either finished or rolled back.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}
