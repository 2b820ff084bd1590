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

use crate::api::Api;

/// How webhooks are told.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// Hosts that alerts may be sent to even if they are at private addresses.
    pub private_hosts: Vec<String>,
    /// Time until a failed delivery is tried again; it doubles with every try.
    pub first_retry: Duration,
    /// Tries of a delivery, all together.
    pub tries: u32,
    /// How long a receiver may take to answer.
    pub timeout: Duration,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            private_hosts: Vec::new(),
            first_retry: Duration::from_secs(10),
            tries: 9,
            timeout: Duration::from_secs(10),
        }
    }
}

/// Raises and delivers alerts every `every`, until `stop`.
pub(crate) async fn run(api: Api, every: Duration, stop: CancellationToken) {
    let mut tick = interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut collapses = collapse::Watch::default();
    let sender = Arc::new(deliver::Sender::new(api.settings.webhooks.clone()));
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        if let Err(error) = raise::raise_all(&api, &mut collapses).await {
            tracing::warn!(%error, "cannot look for what to alert of");
        }
        if let Err(error) = deliver::deliver_due(api.store.pool(), &sender).await {
            tracing::warn!(%error, "cannot deliver alerts");
        }
    }
}
