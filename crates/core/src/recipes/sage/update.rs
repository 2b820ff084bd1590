//! The update of all roles.

use super::{admit::Candidate, solve::Solved, step::Step};
use crate::{
    advantage::{AdvantageConfig, Estimator, Sampled},
    contract::Role,
    kit::{Learner, Lesson, Progress, Sequence},
    work::MemberUpdated,
};

impl<'a> Step<'a> {
    /// Updates the members, each from what it said in all of its roles that learn; returns once they are updated. Rewards
    /// are whitened within each role (task-relative REINFORCE++, Eq. 1).
    pub(super) fn update(&mut self, candidates: &[Candidate], solved: &[Solved]) -> Progress<Vec<&'a MemberUpdated>> {
        let parameters = self.parameters;
        let mut lessons = lessons(candidates, solved);
        lessons.retain(|(role, _)| parameters.learns(*role));
        let members = 0..self.draft.members.len();
        let learners: Vec<Learner> = members.map(|member| self.learner(member, &lessons)).collect();
        let lesson = Lesson {
            learning: &parameters.learning,
            items: &parameters.items,
        };
        let updated = self.draft.update(lesson, &learners)?;
        self.draft.adopt(&updated);
        Ok(updated)
    }

    fn learner(&self, place: usize, lessons: &[(Role, Sequence)]) -> Learner {
        let member = &self.draft.members[place];
        let own = lessons.iter().filter(|(role, _)| member.plays(*role));
        let own: Vec<&(Role, Sequence)> = own.collect();
        let mut batch: Vec<(Role, Sampled)> = own.iter().map(|(role, sequence)| (*role, sequence.sampled)).collect();
        let parameters = self.parameters;
        parameters.learning.alter(&mut batch, self.draft.run, &member.name);
        let advantages = AdvantageConfig {
            estimator: Estimator::TaskRelativeReinforcePlusPlus,
            whitening: parameters.whitening,
            ..AdvantageConfig::default()
        };
        Learner {
            member: place,
            advantages: advantages.advantages(&batch),
            sequences: own.into_iter().map(|(_, sequence)| sequence.clone()).collect(),
            ..Learner::default()
        }
    }
}

/// What each role said, in order.
pub(super) fn lessons(candidates: &[Candidate], solved: &[Solved]) -> Vec<(Role, Sequence)> {
    let planned = || solved.iter().filter_map(|solved| solved.planned.as_ref());
    let questions = candidates.iter().filter_map(|candidate| candidate.critique.as_ref());
    let critiques = questions.chain(planned().filter_map(|planned| planned.critique.as_ref()));
    let challenges = candidates
        .iter()
        .map(|candidate| (Role::Challenger, &candidate.sequence));
    let said = challenges
        .chain(planned().map(|planned| (Role::Planner, &planned.sequence)))
        .chain(solved.iter().map(|solved| (Role::Solver, &solved.sequence)))
        .chain(critiques.map(|critique| (Role::Critic, &critique.sequence)));
    said.map(|(role, sequence)| (role, sequence.clone())).collect()
}
