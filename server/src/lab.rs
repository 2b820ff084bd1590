//! The laboratory that a server serves: what its handlers and background tasks need, and its settings.

mod places;
mod presets;
mod space;

pub(crate) use places::Places;
pub(crate) use presets::{Preset, Presets};
pub use space::Space;

use lyceum_core::recipe::Registry;
use lyceum_store::Store;
use lyceum_store::artifact::ArtifactStore;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::events::EventHub;

/// What handlers and background tasks need.
#[derive(Clone)]
pub(crate) struct Lab {
    pub(crate) store: Store,
    pub(crate) artifacts: ArtifactStore,
    pub(crate) registry: Registry,
    pub(crate) presets: Presets,
    pub(crate) settings: LabSettings,
    pub(crate) events: EventHub,
    /// The places of large bodies.
    pub(crate) places: Arc<Places>,
}

/// Limits and background tasks of the server.
#[derive(Clone, Debug)]
pub struct LabSettings {
    /// Maximum bytes of a JSON body.
    pub body_limit: usize,
    /// Maximum bytes of a dataset sent as one document. It is held in memory while it is written.
    pub dataset_limit: usize,
    /// Maximum bytes of a dataset sent as a file, and of what it unpacks to.
    pub import_limit: usize,
    /// The address of the Hugging Face hub, if it is not that of `HF_ENDPOINT`.
    pub hub: Option<String>,
    /// Maximum bytes of an artifact.
    pub artifact_limit: usize,
    /// How fast bodies must arrive.
    pub body_pace: BodyPace,
    /// Datasets and artifacts received at once from workers, and as many from all others.
    pub large_bodies: usize,
    /// How long one waits for others to be received.
    pub patience: Duration,
    /// Wrong tokens per minute and address before the caller has to wait.
    pub failed_logins_per_minute: NonZeroU32,
    /// How long a browser stays logged in.
    pub session_lifetime: Duration,
    /// Whether browsers use HTTPS only, so that cookies are never sent unencrypted.
    pub secure_cookies: bool,
    /// Names under which the server answers, besides IP addresses and `localhost`.
    pub allowed_hosts: Vec<String>,
    /// Where there must be room.
    pub space: Space,
    /// How webhooks are notified of alerts.
    pub webhooks: WebhookSettings,
    /// A folder of presets that replaces the built-in ones.
    pub presets: Option<PathBuf>,
    /// Threads for requests; by default one per core.
    pub threads: Option<usize>,
    /// Interval of keep-alive comments in a stream without events.
    pub keep_alive: Duration,
    /// Interval of checks for events whose notification was lost.
    pub look_for_events: Duration,
    /// How the server coordinates; `None` if it does not.
    pub coordinate: Option<Pace>,
}

impl Default for LabSettings {
    fn default() -> Self {
        Self {
            body_limit: 1 << 20,
            dataset_limit: 64 << 20,
            import_limit: 64 << 30,
            hub: None,
            artifact_limit: 4 << 30,
            body_pace: BodyPace::default(),
            large_bodies: 8,
            patience: Duration::from_secs(20),
            failed_logins_per_minute: NonZeroU32::new(20).unwrap_or(NonZeroU32::MIN),
            session_lifetime: Duration::from_secs(30 * 24 * 3600),
            secure_cookies: false,
            allowed_hosts: Vec::new(),
            space: Space::default(),
            webhooks: WebhookSettings::default(),
            presets: None,
            threads: None,
            keep_alive: Duration::from_secs(15),
            look_for_events: Duration::from_secs(5),
            coordinate: Some(Pace::default()),
        }
    }
}

/// How fast a body must arrive.
#[derive(Clone, Copy, Debug)]
pub struct BodyPace {
    /// The time for a body of no length.
    pub grace: Duration,
    /// Bytes that each second after that must bring, on average.
    pub bytes_per_second: u32,
}

impl Default for BodyPace {
    fn default() -> Self {
        Self { grace: Duration::from_secs(20), bytes_per_second: 16 << 10 }
    }
}

/// How webhooks are notified.
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
        Self { look: Duration::from_secs(1), sweep: Duration::from_secs(2), tidy: Duration::from_secs(60) }
    }
}
