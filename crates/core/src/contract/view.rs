//! The results of a step so far.

use serde::{Deserialize, Serialize};
use std::any::{Any, type_name};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, mem};

use super::{PlanError, ProblemRecord, Records};
use crate::artifact::Digest;
use crate::id::{DatasetId, ProblemId};
use crate::work::{
    BenchmarkResult, EvolveResult, Outcome, RolloutResult, UpdateResult, VerifyResult, WorkKey, WrongKind,
};

/// The results of a step so far: its items, and the rows that the recipe requested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepView {
    /// Every planned item, by key.
    pub work: BTreeMap<WorkKey, WorkState>,
    /// Problems of earlier steps that the recipe requested.
    pub problems: BTreeMap<ProblemId, ProblemRecord>,
    /// Dataset rows that the recipe requested.
    pub rows: BTreeMap<(DatasetId, u32), DatasetRow>,
    /// Texts of rewards that the recipe requested.
    pub rewards: BTreeMap<Digest, String>,
    /// Values of tags of datasets that the recipe requested.
    pub tags: BTreeMap<(DatasetId, String), Arc<RowTags>>,
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

/// A row that a recipe must see before it can plan further. None of them changes once written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// A problem of the run, or of the run it was forked from.
    Problem(ProblemId),
    /// A row of a dataset, from 0.
    Row(DatasetId, u32),
    /// The text of a reward.
    Reward(Digest),
    /// The values of a tag of a dataset's rows.
    Tag(DatasetId, String),
}

/// The value of a tag of every row of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowTags {
    /// The values that there are.
    pub values: Vec<String>,
    /// The place of a row's value among them; [`RowTags::NONE`] if it has none.
    pub of_row: Vec<u32>,
}

impl RowTags {
    /// Stands for no value.
    pub const NONE: u32 = u32::MAX;

    /// The places of the values of these rows, of those that there are.
    pub fn of_rows(&self, rows: &Range<u32>) -> &[u32] {
        let end = self.of_row.len().min(rows.end as usize);
        &self.of_row[end.min(rows.start as usize)..end]
    }

    /// How many of these rows have each value.
    pub fn sizes(&self, rows: &Range<u32>) -> Vec<u32> {
        let mut sizes = vec![0; self.values.len()];
        for place in self.of_rows(rows).iter().filter(|place| **place != Self::NONE) {
            sizes[*place as usize] += 1;
        }
        sizes
    }
}

impl FromIterator<Option<String>> for RowTags {
    fn from_iter<T: IntoIterator<Item = Option<String>>>(rows: T) -> Self {
        let mut places = HashMap::new();
        let mut tags = Self::default();
        for value in rows {
            let place = value.map(|value| {
                *places.entry(value).or_insert_with_key(|value: &String| {
                    tags.values.push(value.clone());
                    tags.values.len() as u32 - 1
                })
            });
            tags.of_row.push(place.unwrap_or(Self::NONE));
        }
        tags
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetRow(pub serde_json::Value);

impl StepView {
    /// The value of `make`, computed once for all plans of the step. It must depend only on data that never changes
    /// once in the view, and `name` must identify it.
    ///
    /// Rows that `make` plans with the value are in no later plan of a recipe, so the view keeps them.
    ///
    /// # Panics
    /// A value of another type has this name.
    pub fn once<T: Any + Send + Sync, E>(&self, name: &str, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        if let Some(known) = self.memo.lock().values.get(name) {
            return Ok(known.get(name));
        }
        let made = Arc::new(make()?);
        let kept = Kept { kind: type_name::<T>(), value: made.clone() };
        self.memo.lock().values.insert(name.to_owned(), kept);
        Ok(made)
    }

    /// Adds to the rows of a plan those of earlier plans of the step that are not known to be written: an earlier plan may
    /// not have been carried out, and what was computed for it is not computed again.
    pub(crate) fn unwritten(&self, records: &mut Records) {
        let mut memo = self.memo.lock();
        let mut all = mem::take(&mut memo.unwritten);
        all.extend(mem::take(records));
        all.retain_new(&mut HashSet::new());
        records.clone_from(&all);
        memo.unwritten = all;
    }

    /// Drops the rows of earlier plans. To be called when all plans so far have been carried out; where it is not, later
    /// plans have these rows again, which is harmless.
    pub fn written(&self) {
        self.memo.lock().unwritten = Records::default();
    }

    /// Drops everything that earlier plans computed, as a restart of the coordinator does.
    pub fn forget(&self) {
        *self.memo.lock() = Computed::default();
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
        result
            .map_err(|wrong: WrongKind| PlanError::Result { key: key.clone(), detail: format!("a result of {wrong}") })
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

/// What a recipe computed from finished work in earlier plans of the step. Results never change once they are in a view, so
/// the values are right for the rest of the step, and need not be parsed and graded again. It is only a cache: a clone is
/// empty, and two are always equal.
#[derive(Default)]
struct Memo(Mutex<Computed>);

#[derive(Default)]
struct Computed {
    values: HashMap<String, Kept>,
    /// Rows of plans that are not known to be written.
    unwritten: Records,
}

struct Kept {
    /// The name of the value's type.
    kind: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl Kept {
    fn get<T: Any + Send + Sync>(&self, name: &str) -> Arc<T> {
        let value = Arc::clone(&self.value).downcast();
        value.unwrap_or_else(|_| panic!("`{name}` is kept as {} and requested as {}", self.kind, type_name::<T>()))
    }
}

impl Memo {
    fn lock(&self) -> MutexGuard<'_, Computed> {
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
        write!(f, "Memo({})", self.lock().values.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::MetricRecord;

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
        assert_eq!(*view.once("failed", || Ok::<_, &str>(3)).unwrap(), 3, "a failure is not kept");
        assert_eq!(view.clone(), view);
    }

    #[test]
    #[should_panic(expected = "`count` is kept as u32 and requested as u64")]
    fn a_name_belongs_to_one_type() {
        let view = StepView::default();
        view.once("count", || Ok::<_, PlanError>(1_u32)).unwrap();
        let _ = view.once("count", || Ok::<_, PlanError>(1_u64));
    }

    #[test]
    fn rows_are_planned_again_until_they_are_written() {
        let view = StepView::default();
        let metrics = |value: f64| MetricRecord { member: None, values: vec![value], ..MetricRecord::default() };
        let planned = |new: Option<f64>| {
            let mut records = Records::default();
            records.metrics.extend(new.map(metrics));
            view.unwritten(&mut records);
            records.metrics
        };
        assert_eq!(planned(Some(1.0)), [metrics(1.0)]);
        assert_eq!(planned(None), [metrics(1.0)], "the first plan may not have been carried out");
        assert_eq!(planned(Some(1.0)), [metrics(1.0)], "each once");
        view.written();
        assert_eq!(planned(None), []);
    }
}
