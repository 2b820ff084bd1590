//! The results of a step so far.

use serde::{Deserialize, Serialize};
use std::{
    any::Any,
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{PlanError, ProblemRecord};
use crate::{
    id::{DatasetId, ProblemId},
    work::{BenchmarkResult, EvolveResult, Outcome, RolloutResult, UpdateResult, VerifyResult, WorkKey, WrongKind},
};

/// The results of a step so far: its items, and the rows that the recipe asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepView {
    /// Every planned item, by key.
    pub work: BTreeMap<WorkKey, WorkState>,
    /// Problems of earlier steps that the recipe asked for.
    pub problems: BTreeMap<ProblemId, ProblemRecord>,
    /// Dataset rows that the recipe asked for.
    pub rows: BTreeMap<(DatasetId, u32), DatasetRow>,
    memo: Memo,
}

/// The state of an item.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all items of a view have ended, so a box would only add an allocation"
)]
pub enum WorkState {
    /// Not ended.
    Open,
    /// Ended with a result.
    Done(Outcome),
}

/// A row that a recipe must see before it can plan further. Rows of both kinds never change once written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// A problem of the run, or of the run it was forked from.
    Problem(ProblemId),
    /// A row of a dataset, from 0.
    Row(DatasetId, u32),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetRow(pub serde_json::Value);

impl StepView {
    /// The value of `make`, computed once for all plans of the step. It must depend only on data that never changes
    /// once in the view, and `name` must identify it.
    pub fn once<T: Any + Send + Sync, E>(&self, name: &str, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        if let Some(known) = self.memo.get(name) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        self.memo.put(name, Arc::clone(&made));
        Ok(made)
    }

    /// Drops what earlier plans computed, so that the next one plans everything again. A caller that does not carry out
    /// a plan must call this; otherwise the records of that plan are lost.
    pub fn forget(&self) {
        self.memo.clear();
    }

    /// The result of the item at `key`, if it has ended.
    pub fn outcome(&self, key: &WorkKey) -> Option<&Outcome> {
        match self.work.get(key) {
            Some(WorkState::Done(outcome)) => Some(outcome),
            _ => None,
        }
    }

    fn result<'a, T>(&'a self, key: &WorkKey) -> Result<Option<&'a T>, PlanError>
    where
        &'a T: TryFrom<&'a Outcome, Error = WrongKind>,
    {
        let result = self.outcome(key).map(TryInto::try_into).transpose();
        result.map_err(|wrong: WrongKind| PlanError::Result {
            key: key.clone(),
            detail: format!("a result of {wrong}"),
        })
    }

    /// The result of the rollout at `key`, if it has ended.
    pub fn rollout(&self, key: &WorkKey) -> Result<Option<&RolloutResult>, PlanError> {
        self.result(key)
    }

    /// The verdicts of the item at `key`, if it has ended.
    pub fn verify(&self, key: &WorkKey) -> Result<Option<&VerifyResult>, PlanError> {
        self.result(key)
    }

    /// The result of the update at `key`, if it has ended.
    pub fn update(&self, key: &WorkKey) -> Result<Option<&UpdateResult>, PlanError> {
        self.result(key)
    }

    /// The child made by the item at `key`, if it has ended.
    pub fn evolve(&self, key: &WorkKey) -> Result<Option<&EvolveResult>, PlanError> {
        self.result(key)
    }

    /// The samples drawn by the item at `key`, if it has ended.
    pub fn benchmark(&self, key: &WorkKey) -> Result<Option<&BenchmarkResult>, PlanError> {
        self.result(key)
    }
}

/// Values that a recipe computed from finished work, by name. Results never change once they are in a view, so such a
/// value is right for the rest of the step, and a plan need not repeat the parsing and grading of earlier plans of the
/// step.
///
/// Records planned with a value are not planned again, so a memo is valid only while every plan made with it is carried
/// out: a caller that drops a plan must call [`StepView::forget`](StepView::forget). It is only a cache: a clone
/// is empty, and two are always equal.
#[derive(Default)]
struct Memo(Mutex<HashMap<String, Arc<dyn Any + Send + Sync>>>);

impl Memo {
    /// The value called `name`, if cached.
    pub(crate) fn get<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        let value = self.values().get(name).cloned()?;
        value.downcast().ok()
    }

    /// Caches a value.
    fn put<T: Any + Send + Sync>(&self, name: &str, value: Arc<T>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_until_it_is_forgotten() {
        let view = StepView::default();
        let mut made = 0;
        let mut count = || -> u32 {
            let value: Result<_, PlanError> = view.once("count", || {
                made += 1;
                Ok(made)
            });
            *value.unwrap()
        };
        assert_eq!([count(), count()], [1, 1]);
        view.forget();
        assert_eq!(count(), 2);
        let failed: Result<Arc<u32>, &str> = view.once("failed", || Err("not yet"));
        assert!(failed.is_err());
        assert_eq!(
            *view.once("failed", || Ok::<_, &str>(3)).unwrap(),
            3,
            "a failure is not kept"
        );
        assert_eq!(view.clone(), view);
    }
}
