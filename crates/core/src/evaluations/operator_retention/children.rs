//! The children of an evaluation: who they are, and their births.

use std::{collections::BTreeMap, ops::Range};

use super::step::Step;
use crate::{
    contract::PlanError,
    evaluations::{RetentionParameters, arity},
    id::VersionId,
    kit::{Progress, join},
    work::{AdapterRef, EvolvePayload},
};

/// A child of an operator at a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Child<'p> {
    /// Finished steps of the parents' runs.
    pub(super) snapshot: u32,
    /// The operator.
    pub(super) operator: &'p str,
    /// Which of the operator's children it is.
    pub(super) seed: u32,
}

/// The children in the order of the members: by snapshot, operator and seed.
pub(super) fn children(parameters: &RetentionParameters) -> impl Iterator<Item = Child<'_>> {
    let RetentionParameters {
        snapshots,
        operators,
        seeds,
        ..
    } = parameters;
    snapshots.iter().flat_map(move |&snapshot| {
        operators.iter().flat_map(move |operator| {
            (0..*seeds).map(move |seed| Child {
                snapshot,
                operator,
                seed,
            })
        })
    })
}

impl Child<'_> {
    /// Its name among the members.
    pub(super) fn name(self) -> String {
        format!("{}-{}-{}", self.operator, self.snapshot, self.seed)
    }

    /// Its parents: positions among the tasks.
    pub(super) fn parents(self) -> Range<usize> {
        0..arity(self.operator).unwrap_or(0)
    }

    /// The tasks it is trained and measured on: its parents', or the first for a fresh adapter.
    pub(super) fn tasks(self) -> Range<usize> {
        0..self.parents().len().max(1)
    }
}

impl Step<'_> {
    /// Makes the children that are not born.
    pub(super) fn bear(&mut self) -> Progress<()> {
        let unborn = self.children().enumerate();
        let unborn = unborn.filter(|(place, _)| self.rows.draft.members[*place].adapter.is_none());
        let unborn: Vec<(usize, Child<'_>)> = unborn.collect();
        join(unborn, |(place, child)| self.birth(place, child)).map(drop)
    }

    fn birth(&mut self, place: usize, child: Child<'_>) -> Progress<()> {
        let parents = child
            .parents()
            .map(|task| self.parent(task, child.snapshot))
            .collect::<Result<Vec<_>, _>>()?;
        let draft = &mut self.rows.draft;
        let (_, population) = draft.population(place)?;
        let key = draft.key("birth", u32::try_from(place).unwrap_or(u32::MAX));
        let seed = draft.seed(&key, 0);
        let to = VersionId::of(draft.members[place].id(draft.run.run), 0);
        let born = draft.evolve(&key, || EvolvePayload {
            base_model: population.base_model.clone(),
            lora: population.lora.clone(),
            operator: child.operator.to_owned(),
            parameters: BTreeMap::new(),
            parents,
            seed,
            to,
            measured: Vec::new(),
        })?;
        draft.members[place].adapter = Some(born.version);
        Ok(())
    }

    fn parent(&self, task: usize, snapshot: u32) -> Result<AdapterRef, PlanError> {
        let parent = self.parameters.tasks.get(task).and_then(|task| task.at(snapshot));
        parent.ok_or_else(|| PlanError::Other(format!("parent {task} has no weights of step {snapshot}")))
    }
}
