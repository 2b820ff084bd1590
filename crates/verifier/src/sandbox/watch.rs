//! Whether anybody still waits for what a sandbox is doing.

use std::sync::{Arc, Mutex, PoisonError};

type IsAbandoned = Arc<dyn Fn() -> bool + Send + Sync>;

/// Asked while a child runs, so that one that nobody waits for is ended. Shared by the zygotes of a slot.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Mutex<Option<IsAbandoned>>>);

impl Watch {
    /// Sets the question for the next task; `None` if it is never abandoned.
    pub(crate) fn set(&self, is_abandoned: Option<IsAbandoned>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = is_abandoned;
    }

    pub(super) fn is_abandoned(&self) -> bool {
        let question = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        question.as_ref().is_some_and(|is_abandoned| is_abandoned())
    }
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Watch")
    }
}
