//! What the server allows.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use crate::coordinator::Pace;

/// What the server allows, and what it does besides answering.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// Bytes of a JSON body, at most.
    pub body_limit: usize,
    /// Bytes of a dataset that is sent as one document, at most. It is held in memory while it is written.
    pub dataset_limit: usize,
    /// Bytes of a dataset that is sent line by line, at most.
    pub import_limit: usize,
    /// Bytes of an artifact, at most. It is held in memory while it is written.
    pub artifact_limit: usize,
    /// Wrong tokens a minute and address that are answered as such.
    pub failed_logins_per_minute: NonZeroU32,
    /// How long a browser stays logged in.
    pub session_lifetime: Duration,
    /// Whether browsers reach the server by https alone, so that cookies need never go in the clear.
    pub secure_cookies: bool,
    /// A folder of presets, instead of those that the server was built with.
    pub presets: Option<PathBuf>,
    /// Threads that answer requests; none takes one a core.
    pub threads: Option<usize>,
    /// How often a stream of events without news shows that it is alive.
    pub keep_alive: Duration,
    /// How often streams look for events whose notification was lost.
    pub look_for_events: Duration,
    /// How the server coordinates; none leaves that to another.
    pub coordinate: Option<Pace>,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self {
            body_limit: 1 << 20,
            dataset_limit: 64 << 20,
            import_limit: 64 << 30,
            artifact_limit: 4 << 30,
            failed_logins_per_minute: NonZeroU32::new(20).unwrap_or(NonZeroU32::MIN),
            session_lifetime: Duration::from_secs(30 * 24 * 3600),
            secure_cookies: false,
            presets: None,
            threads: None,
            keep_alive: Duration::from_secs(15),
            look_for_events: Duration::from_secs(5),
            coordinate: Some(Pace::default()),
        }
    }
}
