//! Periodic tasks: sweeps and tidying in one, and collections of artifacts in another, since a slow bucket must not hold up
//! the items of lost workers.

use lyceum_store::artifact::{self, ArtifactStore};
use lyceum_store::{Store, StoreError, alerts, benchmarks, crashes, queue, work, workers};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::lab::Pace;

/// Maximum artifacts removed at a time.
const COLLECTED_AT_ONCE: i64 = 200;

/// Sweeps and cleans up until `stop`.
pub(super) async fn run(store: Store, pace: Pace, stop: CancellationToken) {
    let mut sweeper = work::Sweeper::every(pace.sweep);
    let mut sweep = interval(pace.sweep);
    let mut tidy = interval(pace.tidy);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tidy.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = sweep.tick() => match sweeper.sweep(store.pool()).await {
                Ok(swept) if swept.lost > 0 || swept.workers > 0 => tracing::warn!(
                    work.lost = swept.lost,
                    workers.lost = swept.workers,
                    "returned {} items of lost workers to the queue", swept.lost,
                ),
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "cannot sweep"),
            },
            _ = tidy.tick() => {
                if let Err(error) = queue::tidy(store.pool()).await {
                    tracing::warn!(%error, "cannot clean up the queue");
                }
                if let Err(error) = crashes::tidy(store.pool()).await {
                    tracing::warn!(%error, "cannot remove old crashes");
                }
                if let Err(error) = alerts::tidy(store.pool()).await {
                    tracing::warn!(%error, "cannot remove old alerts");
                }
                if let Err(error) = workers::tidy_usage(store.pool()).await {
                    tracing::warn!(%error, "cannot remove old usage of workers");
                }
            }
        }
    }
}

/// Computes results again, those whose statistics were others or which lost a measurement, one transaction each, until `stop`.
pub(super) async fn renew_results(store: Store, every: Duration, stop: CancellationToken) {
    let mut tick = interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let renewing = async {
        loop {
            tick.tick().await;
            let all = async {
                while benchmarks::renew_next(store.pool()).await? {}
                Ok::<(), StoreError>(())
            };
            if let Err(error) = all.await {
                tracing::warn!(%error, "cannot compute results again");
            }
        }
    };
    stop.run_until_cancelled(renewing).await;
}

/// Removes artifacts that nothing refers to until `stop`, which also ends a removal in progress.
pub(super) async fn collect(artifacts: ArtifactStore, every: Duration, stop: CancellationToken) {
    let mut tick = interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let collecting = async {
        loop {
            tick.tick().await;
            match artifact::collect(&artifacts, COLLECTED_AT_ONCE).await {
                Ok(0) => {}
                Ok(removed) => tracing::info!(artifacts.removed = removed, "removed {removed} unreferenced artifacts"),
                Err(error) => tracing::warn!(%error, "cannot collect artifacts"),
            }
        }
    };
    stop.run_until_cancelled(collecting).await;
}
