//! Tickets of one lane, turned into items.

use apalis::layers::WorkerBuilderExt as _;
use apalis::prelude::{BackendExt as _, BoxDynError, Data, WorkerBuilder, WorkerContext};
use apalis_postgres::PostgresStorage;
use lyceum_store::{
    queue::{Lane, Tick, Ticket, hand_back},
    work::{Claim, any_ready, claim, claim_next},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::{Shared, item};

/// Wait before a ticket that this worker could not use is offered again.
const NEXT_OFFER: Duration = Duration::from_secs(1);
/// Least and greatest wait before the queue is read again after the database went away.
const RECONNECT: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(15));

#[derive(Clone)]
struct Counter {
    shared: Arc<Shared>,
    lane: Lane,
    slots: Arc<Semaphore>,
}

/// Reads the lane's tickets until the worker drains, through any outage of the database.
pub(super) async fn run(shared: Arc<Shared>, lane: Lane, slots: Arc<Semaphore>) {
    let mut wait = RECONNECT.0;
    while !shared.draining.is_cancelled() {
        let began = tokio::time::Instant::now();
        // apalis takes a job for held as long as anybody of its holder's name lives, so no name is used twice.
        let name = format!("{}-{}", shared.settings.name, Uuid::now_v7());
        let storage = PostgresStorage::<Ticket>::new(shared.store.pool())
            .with_config(lane.config(shared.settings.heartbeat))
            .with_pubsub()
            .poll_with_strategy(Tick::new(shared.settings.tick));
        let counter = Counter {
            shared: Arc::clone(&shared),
            lane,
            slots: Arc::clone(&slots),
        };
        let worker = WorkerBuilder::new(name.as_str())
            .backend(storage)
            .concurrency(shared.settings.slots(lane))
            .data(counter)
            .build(redeem);
        let draining = shared.draining.clone();
        let ended = worker
            .run_until(async move {
                draining.cancelled().await;
                Ok::<(), std::io::Error>(())
            })
            .await;
        if shared.draining.is_cancelled() {
            return;
        }
        if began.elapsed() > RECONNECT.1 {
            wait = RECONNECT.0;
        }
        if let Err(error) = ended {
            tracing::warn!(%error, "the queue {} cannot be read; trying again in {wait:?}", lane.queue());
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = shared.draining.cancelled() => return,
        }
        wait = (wait * 2).min(RECONNECT.1);
    }
}

/// Turns a ticket into an item, if one is there for this worker, and then goes on with what else there is, until nothing is.
/// Never fails the ticket: what it could not do is known to the work table, and a ticket tried again would only be one too
/// many.
async fn redeem(_: Ticket, counter: Data<Counter>, _: WorkerContext) -> Result<(), BoxDynError> {
    let Counter { shared, lane, slots } = (*counter).clone();
    // The slot outlives an apalis worker that lost its database, so that its successor does not run more at once.
    let Ok(permit) = slots.acquire_owned().await else {
        return Ok(());
    };
    if shared.draining.is_cancelled() {
        give_back(&shared, lane, Duration::ZERO).await;
        return Ok(());
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
                tracing::error!(%error, "an item's task did not end well");
            }
        }
        Ok(None) => {
            if any_ready(shared.store.pool(), lane).await.unwrap_or(false) {
                give_back(&shared, lane, NEXT_OFFER).await;
            }
        }
        Err(error) => tracing::warn!(%error, "cannot claim work"),
    }
    Ok(())
}

/// The next item for a slot whose ticket was used, unless the worker drains.
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

async fn give_back(shared: &Shared, lane: Lane, after: Duration) {
    if let Err(error) = hand_back(shared.store.pool(), lane, after).await {
        tracing::warn!(%error, "cannot give a ticket back; the coordinator will make it good");
    }
}
