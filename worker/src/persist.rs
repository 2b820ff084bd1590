//! Trying again while the database or the server is being restarted or busy, so that what was computed is not lost to it.

use std::time::Duration;

use lyceum_store::StoreError;
use tokio::time::{Instant, sleep};

/// How long to try.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// The first wait and the longest; it doubles in between.
const WAIT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// The longest wait that a server can ask for.
const ASKED: Duration = Duration::from_secs(60);

/// Does something until it succeeds, fails for good or `patience` is over; with none it is done once.
///
/// # Errors
/// The last one.
pub(crate) async fn persist<T, F>(patience: Duration, mut act: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let give_up = Instant::now() + patience;
    let mut wait = WAIT.0;
    loop {
        match act().await {
            Err(error) if error.passes() && Instant::now() < give_up => {
                let asked = error.retry_after().unwrap_or_default().min(ASKED);
                let pause = wait.max(asked);
                tracing::warn!(%error, "trying again in {pause:?}");
                sleep(pause).await;
                wait = (wait * 2).min(WAIT.1);
            }
            done => return done,
        }
    }
}
