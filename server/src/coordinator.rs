//! Plans executions and cleans up after workers. Any number of servers can coordinate on one database: the lock on an
//! execution's row lets one of them plan it at a time.

mod dispatch;
mod housekeeping;
mod planner;
pub(crate) mod step_log;

use lyceum_core::recipe::Registry;
use lyceum_store::{Store, artifact::ArtifactStore, event, listener::Listener};
use std::{sync::Arc, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use planner::Planner;

/// Intervals of a coordinator's checks.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Between checks for due executions whose notification was lost.
    pub look: Duration,
    /// Between sweeps for expired claims.
    pub sweep: Duration,
    /// Between removals of used tickets and unreferenced artifacts.
    pub tidy: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            look: Duration::from_secs(1),
            sweep: Duration::from_secs(2),
            tidy: Duration::from_secs(60),
        }
    }
}

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
        pace: Pace,
        listener: &mut Listener,
    ) -> Self {
        let words = event::to_be_planned(listener);
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        let planner = Arc::new(Planner::new(store.clone(), registry));
        tasks.spawn(dispatch::run(store.clone(), planner, words, pace.look, stop.clone()));
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
