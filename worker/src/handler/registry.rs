//! The handlers of a worker, and the dispatch of items to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{FutureExt as _, future::BoxFuture};
use lyceum_core::work::{Outcome, Payload, Sampler, Trainer, WorkKind, WrongKind};

use super::{Context, Handler, HandlerError};

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
        self.0
            .get(&WorkKind::Update)
            .map_or_else(Vec::new, |handler| handler.trainers())
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
