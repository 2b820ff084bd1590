//! Cached computations of a step.

use std::{
    any::Any,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Values that a recipe computed from finished work, by name. Results never change once they are in a view, so such a
/// value is right for the rest of the step, and a plan need not repeat the parsing and grading of earlier plans of the
/// step.
///
/// Records planned with a value are not planned again, so a memo is valid only while every plan made with it is carried
/// out: a caller that drops a plan must call [`StepView::forget`](super::StepView::forget). It is only a cache: a clone
/// is empty, and two are always equal.
#[derive(Default)]
pub(crate) struct Memo(Mutex<HashMap<String, Arc<dyn Any + Send + Sync>>>);

impl Memo {
    /// The value called `name`, if cached.
    pub(crate) fn get<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        let value = self.values().get(name).cloned()?;
        value.downcast().ok()
    }

    /// Caches a value.
    pub(crate) fn put<T: Any + Send + Sync>(&self, name: &str, value: Arc<T>) {
        self.values().insert(name.to_owned(), value);
    }

    /// Drops every value.
    pub(crate) fn clear(&self) {
        self.values().clear();
    }

    fn values(&self) -> MutexGuard<'_, HashMap<String, Arc<dyn Any + Send + Sync>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Memo {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memo({})", self.values().len())
    }
}
