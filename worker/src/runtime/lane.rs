//! Turns tickets of one lane into items.

use lyceum_store::queue::{Announcements, Lane, Reader};
use lyceum_store::work::{Claim, claim, claim_next};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

use super::{Shared, item};

/// Least and greatest wait before the queue is read again after the database went away.
const RECONNECT: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(15));

/// Reads the lane's tickets until the worker drains, through any outage of the database.
pub(super) async fn run(shared: Arc<Shared>, lane: Lane, slots: Arc<Semaphore>, announcements: Announcements) {
    let reader = Reader {
        lane,
        name: shared.settings.name.clone(),
        slots: shared.settings.slots(lane),
        heartbeat: shared.settings.heartbeat,
        tick: shared.settings.tick,
    };
    let mut wait = RECONNECT.0;
    while !shared.draining.is_cancelled() {
        let began = tokio::time::Instant::now();
        let redeem = {
            let (shared, slots) = (Arc::clone(&shared), Arc::clone(&slots));
            move || redeem(Arc::clone(&shared), lane, Arc::clone(&slots))
        };
        let draining = shared.draining.clone().cancelled_owned();
        let ended = reader.read(shared.store.pool(), &announcements, redeem, draining).await;
        if shared.draining.is_cancelled() {
            return;
        }
        if began.elapsed() > RECONNECT.1 {
            wait = RECONNECT.0;
        }
        if let Err(error) = ended {
            tracing::warn!(%error, "the queue {} cannot be read; retrying in {wait:?}", lane.queue());
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = shared.draining.cancelled() => return,
        }
        wait = (wait * 2).min(RECONNECT.1);
    }
}

/// Turns a ticket into an item, if one is there for this worker, and then goes on with what else there is, until nothing is.
/// If items are left that this worker cannot take, the coordinator issues their tickets anew.
async fn redeem(shared: Arc<Shared>, lane: Lane, slots: Arc<Semaphore>) {
    // The slot outlives a reader that lost its database, so that its successor does not run more at once.
    let Ok(permit) = slots.acquire_owned().await else { return };
    if shared.draining.is_cancelled() {
        return;
    }
    match claim(shared.store.pool(), &shared.slot(lane)).await {
        Ok(Some(claim)) => {
            let items = shared.items.clone();
            let ran = items.spawn(async move {
                let mut next = Some(claim);
                while let Some(claim) = next {
                    item::run(&shared, claim).await;
                    next = another(&shared, lane).await;
                }
                drop(permit);
            });
            if let Err(error) = ran.await {
                tracing::error!(%error, "an item's task failed");
            }
        }
        Ok(None) => {}
        Err(error) => tracing::warn!(%error, "cannot claim work"),
    }
}

/// The next item for a slot whose ticket was used, unless the worker is draining.
async fn another(shared: &Shared, lane: Lane) -> Option<Claim> {
    if shared.draining.is_cancelled() {
        return None;
    }
    let next = claim_next(shared.store.pool(), &shared.slot(lane), lane).await;
    next.unwrap_or_else(|error| {
        tracing::warn!(%error, "cannot claim more work");
        None
    })
}
