//! Runs one item by hand: with the handlers of the queue, but without queue and database.

mod item;

pub use item::{Item, ItemError};

use lyceum_core::work::{Outcome, WorkKind, WrongKind};
use tokio_util::sync::CancellationToken;

use crate::handler::{Artifacts, Context, HandlerError, Handlers};

/// Why an item could not be run by hand.
#[derive(Debug, thiserror::Error)]
pub enum ByHandError {
    /// There is no handler for the item's kind.
    #[error("there is no handler for items of kind {0}")]
    NotServed(WorkKind),
    /// The item's payload is of another kind than the item.
    #[error("a payload of {0}")]
    WrongKind(#[from] WrongKind),
    /// The handler failed.
    #[error(transparent)]
    Failed(#[from] HandlerError),
}

impl Item {
    /// Runs the item to its outcome. `progress` is called with the share that is done, from 0 to 1, and the current
    /// activity.
    ///
    /// # Errors
    /// The item cannot be run, or its handler fails.
    pub async fn run(
        self,
        handlers: &Handlers,
        artifacts: Artifacts,
        mut progress: impl FnMut(f32, &str),
    ) -> Result<Outcome, ByHandError> {
        let context = Context::new(self.key, 1, artifacts, CancellationToken::new());
        let mut news = context.watch_progress();
        let running = handlers.run(self.kind, self.payload, context);
        let mut running = running.ok_or(ByHandError::NotServed(self.kind))??;
        loop {
            tokio::select! {
                outcome = &mut running => return Ok(outcome?),
                Ok(()) = news.changed() => {
                    let now = news.borrow_and_update().clone();
                    progress(now.share.unwrap_or(0.0), now.note.as_deref().unwrap_or_default());
                }
            }
        }
    }
}
