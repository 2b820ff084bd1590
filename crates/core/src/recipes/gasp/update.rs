//! The updates: one of the teacher after lemmas and after lifts, one of the student.

use super::{LearnFrom, candidate::Candidate, round::Posed, step::Step};
use crate::{
    advantage::{AdvantageConfig, Estimator, Sampled},
    contract::Role,
    kit::{Learner, Lesson, Progress, Sequence},
    work::MemberUpdated,
};

impl<'a> Step<'a> {
    /// Updates the teacher from the candidates of a stage.
    pub(super) fn update_teacher(&mut self, posed: &Posed) -> Progress<Vec<&'a MemberUpdated>> {
        let lesson = |candidate: &Candidate| {
            let sequence = candidate.sample.sequence(candidate.reward, candidate.number);
            ((), sequence)
        };
        let lessons: Vec<((), Sequence)> = match self.parameters.learn_from {
            LearnFrom::Judged => posed.candidates.iter().map(lesson).collect(),
            LearnFrom::Accepted => posed.accepted().map(lesson).collect(),
        };
        self.update(Role::Teacher, lessons)
    }

    /// Updates the member that plays `role`; returns once it is updated. Rewards are whitened within each task
    /// (task-relative REINFORCE++).
    pub(super) fn update<T: Copy + Ord>(
        &mut self,
        role: Role,
        lessons: Vec<(T, Sequence)>,
    ) -> Progress<Vec<&'a MemberUpdated>> {
        let parameters = self.parameters;
        let member = self.player(role)?;
        let mut batch: Vec<(T, Sampled)> = lessons
            .iter()
            .map(|(task, sequence)| (*task, sequence.sampled))
            .collect();
        parameters
            .learning
            .alter(&mut batch, self.draft.run, &self.draft.members[member].name);
        let advantages = AdvantageConfig {
            estimator: Estimator::TaskRelativeReinforcePlusPlus,
            whitening: parameters.whitening,
            ..AdvantageConfig::default()
        };
        let learner = Learner {
            member,
            advantages: advantages.advantages(&batch),
            sequences: lessons.into_iter().map(|(_, sequence)| sequence).collect(),
            ..Learner::default()
        };
        let lesson = Lesson {
            learning: &parameters.learning,
            items: &parameters.items,
        };
        let updated = self.draft.update(lesson, &[learner])?;
        self.draft.adopt(&updated);
        Ok(updated)
    }
}
