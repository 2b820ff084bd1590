//! Alerts: raised from what the rows say, and sent to webhooks.

mod address;
mod collapse;
mod deliver;
mod raise;
mod signature;

pub(crate) use address::Policy;
pub(crate) use signature::new_secret;

use std::{sync::Arc, time::Duration};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::lab::Lab;

/// Raises and delivers alerts every `every`, until `stop`.
pub(crate) async fn run(lab: Lab, every: Duration, stop: CancellationToken) {
    let mut tick = interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut collapses = collapse::Watch::default();
    let sender = Arc::new(deliver::Sender::new(lab.settings.webhooks.clone()));
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        if let Err(error) = raise::raise_all(&lab, &mut collapses).await {
            tracing::warn!(%error, "cannot look for what to alert of");
        }
        if let Err(error) = deliver::deliver_due(lab.store.pool(), &sender).await {
            tracing::warn!(%error, "cannot deliver alerts");
        }
    }
}
