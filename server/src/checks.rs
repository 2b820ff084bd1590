//! Checks of configs, on threads apart from those that serve requests and a few at a time: trying out the prompts of a
//! config may take seconds.

use std::time::Duration;
use tokio::{sync::Semaphore, time::timeout};

use crate::api_error::ApiError;

/// Concurrent checks.
static AT_ONCE: Semaphore = Semaphore::const_new(2);
/// How long a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `check` on a thread of its own. A request that ends while it waits for its turn never runs it; one that ends
/// later keeps its turn until the check is over, which the budgets of templates see to.
///
/// # Errors
/// 503 if it is not its turn in time; 500 if the check panics.
pub(crate) async fn apart<T: Send + 'static>(check: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    let turn = timeout(PATIENCE, AT_ONCE.acquire()).await;
    let turn = turn.map_err(|_| ApiError::unavailable("other configs are being checked; try again"))?;
    let turn = turn.map_err(|error| ApiError::internal(&error))?;
    let checked = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        check()
    });
    checked.await.map_err(|error| ApiError::internal(&error))
}
