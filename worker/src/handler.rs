//! The interface for running items: a handler for each kind of work, and the context of an item.

mod context;
mod registry;

pub use context::{Artifacts, Context};
pub use registry::{Handlers, Running};

use lyceum_core::work::{Outcome, Payload, Sampler, Trainer, WorkKind, WrongKind};
use lyceum_models::ModelError;
use lyceum_store::StoreError;
use std::sync::Arc;

/// Runs items of one kind. An item's result depends only on its payload; a retried item starts over.
///
/// CPU-bound code belongs in `tokio::task::spawn_blocking` or on its own thread: there are as many handler threads as
/// cores, and a handler that blocks one delays the others.
pub trait Handler: Send + Sync + 'static {
    /// The kind of work.
    const KIND: WorkKind;
    /// Payloads of this kind.
    type Payload: TryFrom<Payload, Error = WrongKind> + Send + 'static;
    /// Outcomes of this kind.
    type Outcome: Into<Outcome> + Send + 'static;

    /// Runs one item to its outcome. May be dropped at any await when the item is cancelled or given to another worker.
    fn run(
        self: Arc<Self>,
        payload: Self::Payload,
        context: Context,
    ) -> impl Future<Output = Result<Self::Outcome, HandlerError>> + Send;

    /// Whether it takes items whose tokens `sampler` generates; the engine's alone by default.
    fn serves(&self, sampler: Sampler) -> bool {
        sampler.is_engine()
    }

    /// What takes the optimizer steps of the items it takes; the engine alone by default.
    fn trainers(&self) -> Vec<Trainer> {
        vec![Trainer::Engine]
    }

    /// The loaded base models; their items are preferred.
    fn loaded_models(&self) -> Vec<String> {
        Vec::new()
    }

    /// The base models that servers have at the moment; of items for a server only theirs are taken.
    fn served_models(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why an item could not be run.
#[derive(Debug, thiserror::Error)]
pub enum HandlerError {
    /// Retrying would fail the same way.
    #[error("{0}")]
    Permanent(String),
    /// Retrying may help.
    #[error("{0}")]
    Transient(String),
    /// This worker does not have the base model as asked. Another may, so the item is tried again.
    #[error("{0}")]
    LacksBase(String),
    /// The device refuses all further work of this process: another worker may succeed, and this one stops.
    #[error("{0}")]
    DeviceLost(String),
}

impl HandlerError {
    /// An error that retrying does not help against.
    pub fn permanent(reason: impl std::fmt::Display) -> Self {
        Self::Permanent(reason.to_string())
    }
}

impl From<StoreError> for HandlerError {
    /// All storage errors are transient: disk space is freed, a damaged artifact is rewritten.
    fn from(error: StoreError) -> Self {
        Self::Transient(error.to_string())
    }
}

impl From<ModelError> for HandlerError {
    /// Files that cannot be read now, and a hub that does not answer, are transient.
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Lacking(reason) => Self::LacksBase(reason),
            error if error.is_transient() => Self::Transient(error.to_string()),
            error => Self::Permanent(error.to_string()),
        }
    }
}
