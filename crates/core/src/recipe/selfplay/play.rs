//! From prompts to graded attempts: the part of a step that every recipe of self-play has.

use super::{Ask, Exam, Judged, Scene, Sitting};
use crate::{
    recipe::{PlanError, Role},
    reward::Solved,
};

/// How a recipe plays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Proposals drawn for a prompt.
    pub(crate) proposals_per_prompt: u32,
    /// Attempts at each valid problem.
    pub(crate) samples_per_problem: u32,
    /// What those play who attempt.
    pub(crate) solver: Role,
    /// Whether an update will learn from the attempts.
    pub(crate) keep_tokens: bool,
    /// What a proposal is worth; none stands for an invalid one.
    pub(crate) reward: fn(Option<Solved>) -> f32,
}

impl Scene<'_> {
    /// All proposals with their attempts and rewards by index, once every attempt is graded. Chunks go their ways apart, so that
    /// checks and attempts overlap with proposals that are still being written.
    pub(crate) fn play(&mut self, asks: &[Ask], rules: Rules) -> Result<Option<Vec<(Judged, f32)>>, PlanError> {
        let samples = rules.proposals_per_prompt;
        let mut all = Some(Vec::with_capacity(asks.len() * samples as usize));
        for (chunk, asks) in (0..).zip(asks.chunks(self.groups.items.propose as usize)) {
            let judged = match self.propose(chunk, asks, samples)? {
                Some(proposed) => self.check(chunk, asks, samples, proposed)?,
                None => None,
            };
            let rewarded = match judged {
                Some(judged) => self.attempt(chunk, judged, rules)?,
                None => None,
            };
            match (rewarded, &mut all) {
                (Some(rewarded), Some(all)) => all.extend(rewarded),
                _ => all = None,
            }
        }
        Ok(all)
    }

    /// A chunk's problems, attempted and rewarded.
    fn attempt(
        &mut self,
        chunk: u32,
        mut judged: Vec<Judged>,
        rules: Rules,
    ) -> Result<Option<Vec<(Judged, f32)>>, PlanError> {
        let parts = self.parts();
        let size = (self.groups.items.solve * rules.proposals_per_prompt).max(1) as usize;
        let mut rewards = Vec::with_capacity(judged.len());
        let mut is_complete = true;
        for (part, judged) in (0..).zip(judged.chunks_mut(size)) {
            let sittings: Vec<Sitting<'_>> = judged.iter().filter_map(sitting).collect();
            let exam = Exam {
                solve: "solve",
                grade: "grade",
                chunk: chunk * parts + part,
                samples: rules.samples_per_problem,
                role: rules.solver,
                keep_tokens: rules.keep_tokens,
                is_written: self.settled,
            };
            let Some(graded) = self.examine(exam, &sittings)? else {
                is_complete = false;
                continue;
            };
            let valid = judged.iter_mut().filter(|judged| judged.problem.is_some());
            for (judged, attempts) in valid.zip(graded) {
                judged.attempts = attempts;
            }
            for judged in &*judged {
                let reward = (rules.reward)(judged.solved());
                let parts = match judged.solved() {
                    None => serde_json::json!({ "validity": reward }),
                    Some(_) => serde_json::json!({ "difficulty": reward }),
                };
                self.record_outcome(judged, reward, parts);
                rewards.push(reward);
            }
        }
        Ok(is_complete.then(|| judged.into_iter().zip(rewards).collect()))
    }
}

fn sitting(judged: &Judged) -> Option<Sitting<'_>> {
    judged.problem.as_ref().map(|problem| Sitting {
        number: judged.index,
        problem,
        solver: judged.solver,
    })
}
