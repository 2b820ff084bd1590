//! The members that learn, and their batches.

use super::step::Step;
use crate::{
    advantage::{Sampled, reinforce_plus_plus_baseline},
    recipe::{Learner, Role, Sequence, code::Judged},
};

impl Step<'_> {
    /// Every member that learns, with one mixed batch of all types: a teacher's proposals, a student's attempts, or
    /// both for the baseline. Advantages are REINFORCE++-baseline over the member's own batch, so members stay
    /// independent.
    pub(super) fn learners(&self, judged: &[(Judged, f32)]) -> Vec<Learner> {
        let prompts = judged.iter().map(|(judged, _)| judged.request + 1).max().unwrap_or(0);
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
                learners[judged.proposer].sequences.push(Sequence {
                    source: judged.source.clone(),
                    request: judged.request,
                    sample: judged.sample,
                    sampled: Sampled {
                        reward: reward * scale,
                        group: judged.request,
                        tokens: judged.tokens,
                    },
                });
            }
        }
        if learns(Role::Student) {
            for (judged, attempt) in judged
                .iter()
                .flat_map(|(judged, _)| judged.attempts.iter().map(move |a| (judged, a)))
            {
                learners[attempt.solver].sequences.push(Sequence {
                    source: attempt.source.clone(),
                    request: attempt.request,
                    sample: attempt.sample,
                    sampled: Sampled {
                        reward: attempt.reward * scale,
                        group: prompts + judged.index,
                        tokens: attempt.tokens,
                    },
                });
            }
        }
        for learner in &mut learners {
            let batch: Vec<Sampled> = learner.sequences.iter().map(|sequence| sequence.sampled).collect();
            learner.advantages = reinforce_plus_plus_baseline(&batch, self.parameters.whitening);
        }
        learners
    }
}
