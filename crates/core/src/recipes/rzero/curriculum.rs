//! The stage that generates questions: propose → vote → tally → keep those that solvers are unsure of.

use super::{metrics::Tally, propose::Call, step::Step};
use crate::{kit::Progress, vocabulary_dropout::Purpose};

impl<'a> Step<'a> {
    pub(super) fn generate_curriculum(&mut self) -> Progress<Tally<'a>> {
        let stage = &self.parameters.curriculum;
        let call = Call {
            purpose: Purpose::Generation,
            prompts: stage.questions,
            n: 1,
            sampling: &stage.sampling,
        };
        let polled = self.propose_and_poll(call)?;
        let (mut questions, mut pool) = (Vec::new(), Vec::new());
        for polled in polled.iter() {
            let outcome = polled.outcome(0.0, serde_json::json!({}));
            self.draft.plan.records.outcomes.push(outcome);
            if !polled.is_read {
                continue;
            }
            if polled.vote.is_some_and(|vote| stage.band.has(vote.count, vote.of)) {
                pool.extend(u32::try_from(questions.len()));
            }
            questions.push(polled.problem);
        }
        let accepted = pool.len();
        (self.memory.curriculum, self.memory.pool) = (questions, pool);
        Ok(Tally {
            polled: polled.to_vec(),
            curriculum: Some([self.memory.curriculum.len(), accepted]),
            ..Tally::default()
        })
    }
}
