//! How much the questions of a run's iterations differ, for the page and the API.

pub(crate) mod endpoints;
mod iterations;
mod neighbours;
mod wordings;

pub(crate) use iterations::{Diversity, Iteration};
pub(crate) use neighbours::{Neighbours, Similarity, neighbours};
pub(crate) use wordings::{RepeatedWording, Wordings, wordings};

use lyceum_core::id::ExecutionId;
use lyceum_store::diversity::{Question, questions};

use crate::{api_error::ApiError, lab::Lab};

/// The most questions of an iteration that are looked at.
const QUESTIONS: u32 = 20_000;

/// The questions measured in `step`, in the order of their embeddings.
async fn asked(lab: &Lab, run: ExecutionId, step: u32) -> Result<Vec<Question>, ApiError> {
    Ok(questions(lab.store.pool(), run, step, QUESTIONS).await?)
}

/// The result of work on a thread where it holds nobody up.
async fn computed<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ApiError::internal(&error))
}
