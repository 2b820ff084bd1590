//! What a step has so far.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{PlanError, ProblemRecord};
use crate::{
    id::{DatasetId, ProblemId},
    work::{Outcome, WorkKey},
};

/// What a step has so far: its items, and the rows that the recipe asked to see.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepView {
    /// Every item that was planned, by place.
    pub work: BTreeMap<WorkKey, WorkState>,
    /// Problems of earlier steps that were wanted.
    pub problems: BTreeMap<ProblemId, ProblemRecord>,
    /// Rows of datasets that were wanted.
    pub rows: BTreeMap<(DatasetId, u32), DatasetRow>,
}

/// How far an item is.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkState {
    /// Not ended.
    Open,
    /// Ended with a result.
    Done(Outcome),
}

/// A row that a recipe must see before it can plan on. Both kinds never change once written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// A problem of the run, or of the run that it was forked from.
    Problem(ProblemId),
    /// A row of a dataset, from 0.
    Row(DatasetId, u32),
}

/// A row of a dataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetRow(pub serde_json::Value);

/// The items of one round of a phase.
#[derive(Clone, Copy, Debug)]
pub struct Phase<'a> {
    view: &'a StepView,
    step: u32,
    name: &'a str,
    round: u32,
}

impl StepView {
    /// The items of `round` of the phase `name`.
    pub fn phase<'a>(&'a self, step: u32, name: &'a str, round: u32) -> Phase<'a> {
        Phase {
            view: self,
            step,
            name,
            round,
        }
    }

    /// The result of the item at `key`, if it ended.
    pub fn outcome(&self, key: &WorkKey) -> Option<&Outcome> {
        match self.work.get(key) {
            Some(WorkState::Done(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// The result of the rollout at `key`, if it ended.
    pub fn rollout(&self, key: &WorkKey) -> Result<Option<&crate::work::RolloutResult>, PlanError> {
        match self.outcome(key) {
            None => Ok(None),
            Some(Outcome::Rollout(result)) => Ok(Some(result)),
            Some(other) => Err(unexpected(key, "rollout", other)),
        }
    }

    /// The verdicts of the item at `key`, if it ended.
    pub fn verify(&self, key: &WorkKey) -> Result<Option<&crate::work::VerifyResult>, PlanError> {
        match self.outcome(key) {
            None => Ok(None),
            Some(Outcome::Verify(result)) => Ok(Some(result)),
            Some(other) => Err(unexpected(key, "verify", other)),
        }
    }

    /// The result of the update at `key`, if it ended.
    pub fn update(&self, key: &WorkKey) -> Result<Option<&crate::work::UpdateResult>, PlanError> {
        match self.outcome(key) {
            None => Ok(None),
            Some(Outcome::Update(result)) => Ok(Some(result)),
            Some(other) => Err(unexpected(key, "update", other)),
        }
    }

    /// The child that the item at `key` made, if it ended.
    pub fn evolve(&self, key: &WorkKey) -> Result<Option<&crate::work::EvolveResult>, PlanError> {
        match self.outcome(key) {
            None => Ok(None),
            Some(Outcome::Evolve(result)) => Ok(Some(result)),
            Some(other) => Err(unexpected(key, "evolve", other)),
        }
    }

    /// The samples that the item at `key` drew, if it ended.
    pub fn benchmark(&self, key: &WorkKey) -> Result<Option<&crate::work::BenchmarkResult>, PlanError> {
        match self.outcome(key) {
            None => Ok(None),
            Some(Outcome::Benchmark(result)) => Ok(Some(result)),
            Some(other) => Err(unexpected(key, "benchmark", other)),
        }
    }
}

fn unexpected(key: &WorkKey, wanted: &str, got: &Outcome) -> PlanError {
    PlanError::Result {
        key: key.clone(),
        detail: format!("a result of kind {} where {wanted} was asked", got.kind()),
    }
}

impl<'a> Phase<'a> {
    /// The place of a chunk.
    pub fn key(&self, chunk: u32) -> WorkKey {
        WorkKey::new(self.step, self.name).round(self.round).chunk(chunk)
    }

    /// The items of the phase that were planned, in index order.
    pub fn items(&self) -> impl Iterator<Item = (&'a WorkKey, &'a WorkState)> {
        self.view.work.range(self.key(0)..=self.key(u32::MAX))
    }

    /// Whether all `chunks` items that the phase consists of have ended.
    pub fn ended(&self, chunks: u32) -> bool {
        self.items()
            .filter(|(_, state)| matches!(state, WorkState::Done(_)))
            .count()
            >= chunks as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::RolloutResult;

    #[test]
    fn a_phase_sees_its_own_chunks_in_index_order() {
        let mut view = StepView::default();
        let done = WorkState::Done(Outcome::Rollout(RolloutResult::default()));
        for (phase, round, chunk) in [("solve", 0, 10), ("solve", 0, 9), ("solve", 1, 0), ("propose", 0, 0)] {
            view.work
                .insert(WorkKey::new(4, phase).round(round).chunk(chunk), done.clone());
        }
        view.work.insert(WorkKey::new(4, "solve").chunk(11), WorkState::Open);
        let phase = view.phase(4, "solve", 0);
        assert_eq!(phase.items().map(|(key, _)| key.chunk).collect::<Vec<_>>(), [9, 10, 11]);
        assert!(phase.ended(2) && !phase.ended(3));
        assert!(view.verify(&phase.key(9)).is_err(), "a rollout is no verdict");
        assert_eq!(
            view.rollout(&phase.key(11)).unwrap(),
            None,
            "an open item has no result yet"
        );
    }
}
