//! The interface for running items: a handler for each kind of work, and the context of an item.

mod context;

pub use context::{Artifacts, Context};

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use lyceum_core::work::{Outcome, Payload, Sampler, Trainer, WorkKind, WrongKind};
use lyceum_models::ModelError;
use lyceum_store::StoreError;

/// Runs items of one kind. An item's result depends only on its payload; a retried item starts over.
///
/// CPU-bound code belongs in `tokio::task::spawn_blocking` or on its own thread: there are as many handler threads as
/// cores, and a handler that blocks one delays the others.
pub trait Handler: Send + Sync + 'static {
    const KIND: WorkKind;
    type Payload: TryFrom<Payload, Error = WrongKind> + Send + 'static;
    /// Outcomes of this kind.
    type Outcome: Into<Outcome> + Send + 'static;

    /// Runs one item to its outcome. May be dropped at any await when the item is cancelled or given to another worker.
    fn run(
        self: Arc<Self>,
        payload: Self::Payload,
        context: Context,
    ) -> impl Future<Output = Result<Self::Outcome, HandlerError>> + Send;

    /// Whether it takes items whose tokens `sampler` generates; only the engine's by default.
    fn serves(&self, sampler: Sampler) -> bool {
        sampler.is_engine()
    }

    /// What takes the optimizer steps of the items it takes; only the engine by default.
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

/// A running item.
pub type Running = BoxFuture<'static, Result<Outcome, HandlerError>>;

/// At most one handler per kind of work.
#[derive(Clone, Default)]
pub struct Handlers(BTreeMap<WorkKind, Arc<dyn Dispatch>>);

impl Handlers {
    /// Adds a handler; replaces the one of the same kind.
    #[must_use]
    pub fn with<H: Handler>(mut self, handler: H) -> Self {
        self.0.insert(H::KIND, Arc::new(handler));
        self
    }

    /// The kinds that have a handler.
    pub fn kinds(&self) -> impl Iterator<Item = WorkKind> {
        self.0.keys().copied()
    }

    /// Whether there is a handler of `kind` that takes items whose tokens `sampler` generates.
    pub fn serves(&self, kind: WorkKind, sampler: Sampler) -> bool {
        self.0.get(&kind).is_some_and(|handler| handler.serves(sampler))
    }

    /// What takes the optimizer steps of updates here.
    pub fn trainers(&self) -> Vec<Trainer> {
        self.0.get(&WorkKind::Update).map_or_else(Vec::new, |handler| handler.trainers())
    }

    /// The loaded base models of all handlers, each once.
    pub fn loaded_models(&self) -> Vec<String> {
        self.models(|handler| handler.loaded_models())
    }

    /// The base models that servers have at the moment, each once.
    pub fn served_models(&self) -> Vec<String> {
        self.models(|handler| handler.served_models())
    }

    fn models(&self, of: impl Fn(&dyn Dispatch) -> Vec<String>) -> Vec<String> {
        let mut models: Vec<String> = self.0.values().flat_map(|handler| of(handler.as_ref())).collect();
        models.sort();
        models.dedup();
        models
    }

    /// Starts running an item of `kind`; `None` without a handler of this kind.
    ///
    /// # Errors
    /// A payload of another kind.
    pub fn run(&self, kind: WorkKind, payload: Payload, context: Context) -> Option<Result<Running, WrongKind>> {
        let handler = Arc::clone(self.0.get(&kind)?);
        Some(handler.run(payload, context))
    }
}

/// A handler of any kind.
trait Dispatch: Send + Sync {
    fn run(self: Arc<Self>, payload: Payload, context: Context) -> Result<Running, WrongKind>;

    fn serves(&self, sampler: Sampler) -> bool;

    fn trainers(&self) -> Vec<Trainer>;

    fn loaded_models(&self) -> Vec<String>;

    fn served_models(&self) -> Vec<String>;
}

impl<H: Handler> Dispatch for H {
    fn run(self: Arc<Self>, payload: Payload, context: Context) -> Result<Running, WrongKind> {
        let payload = H::Payload::try_from(payload)?;
        Ok(async move { Handler::run(self, payload, context).await.map(Into::into) }.boxed())
    }

    fn serves(&self, sampler: Sampler) -> bool {
        Handler::serves(self, sampler)
    }

    fn trainers(&self) -> Vec<Trainer> {
        Handler::trainers(self)
    }

    fn loaded_models(&self) -> Vec<String> {
        Handler::loaded_models(self)
    }

    fn served_models(&self) -> Vec<String> {
        Handler::served_models(self)
    }
}
