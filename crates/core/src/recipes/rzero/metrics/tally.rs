//! The outcome of a step.

use crate::{
    id::MemberId,
    recipes::rzero::{poll::Polled, solver::Graded},
    work::{Diversity, MemberUpdated},
};

/// The outcome of a step.
#[derive(Clone, Default)]
pub(in crate::recipes::rzero) struct Tally<'t> {
    pub(in crate::recipes::rzero) polled: Vec<Polled>,
    /// The reward of each polled proposal, if proposers learn.
    pub(in crate::recipes::rzero) proposer_rewards: Vec<f32>,
    /// The share of proposals that repeat each polled one.
    pub(in crate::recipes::rzero) repetition: Vec<f32>,
    /// Valid and accepted questions of a curriculum.
    pub(in crate::recipes::rzero) curriculum: Option<[usize; 2]>,
    pub(in crate::recipes::rzero) graded: Vec<Graded>,
    pub(in crate::recipes::rzero) updated: Vec<&'t MemberUpdated>,
    pub(in crate::recipes::rzero) diversity: Option<Diversity>,
}

impl Tally<'_> {
    /// What concerns the member at `place`.
    pub(super) fn of_member(&self, place: usize, id: MemberId) -> Self {
        let mut own = self.clone();
        own.polled.retain(|polled| polled.proposer == place);
        own.proposer_rewards = self.of_proposer(place, &self.proposer_rewards);
        own.repetition = self.of_proposer(place, &self.repetition);
        own.graded.retain(|answer| answer.solver == place);
        own.updated.retain(|new| new.member == id);
        Self {
            curriculum: None,
            diversity: None,
            ..own
        }
    }

    /// The values of the proposals of the proposer at `place`.
    fn of_proposer(&self, place: usize, values: &[f32]) -> Vec<f32> {
        let values = self.polled.iter().zip(values);
        let own = values.filter(|(polled, _)| polled.proposer == place);
        own.map(|(_, value)| *value).collect()
    }
}
