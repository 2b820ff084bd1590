//! The members that learn, and their batches.

use super::step::Step;
use crate::{
    advantage::{Sampled, reinforce_plus_plus_baseline},
    recipe::{Learner, Role, code::Judged},
};

impl Step<'_> {
    /// Every member that learns, with one mixed batch of all types: a teacher's proposals, a student's attempts, or
    /// both for the baseline. Advantages are REINFORCE++-baseline over the member's own batch, so members stay
    /// independent.
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
        let scale = self.parameters.learning.reward_scale;
        if learns(Role::Teacher) {
            for (judged, reward) in judged {
                let sequence = judged.sample.sequence(reward * scale, judged.sample.request);
                learners[judged.proposer].sequences.push(sequence);
            }
        }
        if learns(Role::Student) {
            for (judged, _) in judged {
                for attempt in &judged.attempts {
                    let sequence = attempt.sample.sequence(attempt.reward * scale, prompts + judged.index);
                    learners[attempt.solver].sequences.push(sequence);
                }
            }
        }
        for learner in &mut learners {
            let batch: Vec<Sampled> = learner.sequences.iter().map(|sequence| sequence.sampled).collect();
            learner.advantages = reinforce_plus_plus_baseline(&batch, self.parameters.whitening);
        }
        learners
    }
}
