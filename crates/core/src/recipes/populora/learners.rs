//! The members that learn, and their batches.

use std::collections::BTreeMap;

use super::{Parameters, step::Step};
use crate::{
    advantage::{Sampled, reinforce_plus_plus_baseline},
    contract::Role,
    kit::{Learner, Sequence, code::Judged},
};

impl Step<'_> {
    /// Every member that learns, with one mixed batch of all types: a teacher's proposals, a student's attempts, or
    /// both for the baseline. Advantages are REINFORCE++-baseline over the member's own batch in each role, so members
    /// and roles stay independent: pooled, the baseline's proposals, which earn less than its attempts, would get
    /// negative advantages whatever they are.
    pub(super) fn learners(&self, judged: &[(Judged, f32)]) -> Vec<Learner> {
        let prompts = judged
            .iter()
            .map(|(judged, _)| judged.sample.request + 1)
            .max()
            .unwrap_or(0);
        let learns = |role: Role| !self.parameters.frozen.contains(&role);
        let mut learners: Vec<Learner> = (0..self.scene.draft.members.len())
            .map(|member| Learner {
                member,
                ..Learner::default()
            })
            .collect();
        if learns(Role::Teacher) {
            let proposals = judged.iter().map(|(judged, reward)| {
                let sequence = judged.sample.sequence(*reward, judged.sample.request);
                (judged.proposer, sequence)
            });
            self.learn_in_role(&mut learners, Role::Teacher, proposals);
        }
        if learns(Role::Student) {
            let attempts = judged.iter().flat_map(|(judged, _)| {
                judged.attempts.iter().map(move |attempt| {
                    let sequence = attempt.sample.sequence(attempt.reward, prompts + judged.index);
                    (attempt.solver, sequence)
                })
            });
            self.learn_in_role(&mut learners, Role::Student, attempts);
        }
        learners
    }

    /// Gives every learner its sequences in one role, with their advantages.
    fn learn_in_role(&self, learners: &mut [Learner], role: Role, sequences: impl Iterator<Item = (usize, Sequence)>) {
        let Parameters {
            learning, whitening, ..
        } = self.parameters;
        let draft = &self.scene.draft;
        let mut by_learner: BTreeMap<usize, Vec<Sequence>> = BTreeMap::new();
        for (learner, sequence) in sequences {
            by_learner.entry(learner).or_default().push(sequence);
        }
        for (learner, sequences) in by_learner {
            let mut batch: Vec<((), Sampled)> = sequences.iter().map(|sequence| ((), sequence.sampled)).collect();
            let path = format!("{}/{}", role.name(), draft.members[learner].name);
            learning.alter(&mut batch, draft.run, &path);
            let batch: Vec<Sampled> = batch.into_iter().map(|(_, sampled)| sampled).collect();
            let advantages = reinforce_plus_plus_baseline(&batch, *whitening);
            learners[learner].sequences.extend(sequences);
            learners[learner].advantages.extend(advantages);
        }
    }
}
