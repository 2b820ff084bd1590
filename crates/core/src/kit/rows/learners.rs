//! What members learn from their answers.

use super::{Answer, Rows};
use crate::{
    advantage::{AdvantageConfig, Sampled},
    kit::{Learner, LearningConfig, Sequence},
};

impl Rows<'_> {
    /// The first `members` members, each with its own answers and their advantages.
    pub fn learners(
        &self,
        members: usize,
        answers: &[Answer],
        learning: &LearningConfig,
        advantages: &AdvantageConfig,
    ) -> Vec<Learner> {
        let members = self.draft.members.iter().take(members).enumerate();
        let learner = members.map(|(place, member)| {
            let own = answers.iter().filter(|answer| answer.member == place);
            let sequences: Vec<Sequence> = own.map(|answer| answer.sequence.clone()).collect();
            let mut batch: Vec<((), Sampled)> = sequences.iter().map(|sequence| ((), sequence.sampled)).collect();
            learning.alter(&mut batch, self.draft.run, &member.name);
            Learner {
                member: place,
                advantages: advantages.advantages(&batch),
                sequences,
                ..Learner::default()
            }
        });
        learner.collect()
    }
}
