//! Trying again while servers do not answer.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::handler::HandlerError;

/// The first wait and the longest.
const WAIT: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// Waits that double, until a time is over.
pub(super) struct Patience {
    until: Instant,
    wait: Duration,
}

impl Patience {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            until: Instant::now() + patience,
            wait: WAIT.0,
        }
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// The time is over.
    pub(super) async fn wait(&mut self, trouble: &str) -> Result<(), HandlerError> {
        if Instant::now() + self.wait > self.until {
            return Err(HandlerError::Transient(trouble.to_owned()));
        }
        tracing::debug!("{trouble}; trying again in {:?}", self.wait);
        sleep(self.wait).await;
        self.wait = (self.wait * 2).min(WAIT.1);
        Ok(())
    }
}
