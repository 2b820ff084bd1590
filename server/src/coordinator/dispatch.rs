//! Hears which executions are due, and has each planned by one task at a time.

use lyceum_core::id::ExecutionId;
use lyceum_store::{Store, event::PLAN_CHANNEL, plan};
use sqlx::postgres::PgListener;
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::planner::Planner;

/// Plans until `stop`. Told by notification; looks every `every` for what a lost notification would have told.
pub(super) async fn run(store: Store, planner: Arc<Planner>, every: Duration, stop: CancellationToken) {
    let mut listener = None;
    let mut planning = JoinSet::new();
    // Executions being planned; true where one was heard of again meanwhile.
    let mut busy: HashMap<ExecutionId, bool> = HashMap::new();
    let mut look = tokio::time::interval(every);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let heard: Vec<ExecutionId> = tokio::select! {
            () = stop.cancelled() => break,
            id = next_notification(&mut listener) => id.into_iter().collect(),
            _ = look.tick() => {
                if listener.is_none() {
                    listener = listen(&store).await;
                }
                plan::due(store.pool()).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "cannot look for executions that are due");
                    Vec::new()
                })
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

async fn listen(store: &Store) -> Option<PgListener> {
    let mut listener = PgListener::connect_with(store.pool()).await.ok()?;
    listener.listen(PLAN_CHANNEL).await.ok()?;
    Some(listener)
}

/// The next execution that is told of. A broken connection ends the listener; the next look opens another.
async fn next_notification(listener: &mut Option<PgListener>) -> Option<ExecutionId> {
    let Some(open) = listener else {
        return std::future::pending().await;
    };
    match open.recv().await {
        Ok(notification) => notification.payload().parse().ok(),
        Err(error) => {
            tracing::warn!(%error, "no longer told of executions that are due; looking for them instead");
            *listener = None;
            None
        }
    }
}
