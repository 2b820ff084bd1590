//! Asks members in their roles, and records what they said.

use super::step::Step;
use crate::{
    contract::{AttemptRecord, Phase, PlanError, Role},
    id::ProblemId,
    kit::{Generation, Progress, Sample, judge::Judged, mathematics::prompt_error, rows::Reward},
    prompt::{PromptError, PromptSet, Rendered},
    work::{Completion, Sampling},
};

/// What is asked of a role.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'p> {
    /// The phase of the items.
    pub(super) phase: Phase,
    pub(super) role: Role,
    /// Completions of each prompt.
    pub(super) samples: u32,
    pub(super) sampling: &'p Sampling,
    /// Whether the role learns from them, unless it is frozen.
    pub(super) is_learned: bool,
}

/// A completion.
#[derive(Clone, Debug)]
pub(super) struct Said<'r> {
    pub(super) sample: Sample,
    pub(super) completion: &'r Completion,
}

impl<'a> Step<'a> {
    /// The completions of a chunk's prompts, by prompt. Each is asked with the number that names it in the step; without
    /// prompts there is no item.
    pub(super) fn ask<A>(
        &mut self,
        call: Call<'_>,
        chunk: u32,
        asked: &[(u32, A)],
        prompt: impl Fn(&PromptSet, &A) -> Result<Rendered, PromptError>,
    ) -> Progress<Vec<Vec<Said<'a>>>> {
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let key = self.draft.key(call.phase, chunk);
        let member = self.player(call.role)?;
        let prompts = &self.prompts;
        let keep_tokens = call.is_learned && self.parameters.learns(call.role);
        let result = self.draft.generate(&key, [asked.len(), call.samples as usize], || {
            let requests = asked.iter().map(|(number, asked)| {
                let rendered = prompt(prompts, asked).map_err(prompt_error)?;
                Ok((*number, member, rendered.prompt))
            });
            Ok(Generation {
                sampling: call.sampling.clone(),
                samples: call.samples,
                keep_tokens,
                draws: None,
                requests: requests.collect::<Result<_, PlanError>>()?,
            })
        })?;
        let said = asked.iter().zip(&result.generated).map(|((number, _), generated)| {
            let said = (0..).zip(&generated.completions).map(|(index, completion)| Said {
                sample: Sample::of(&key, *number, index, completion),
                completion,
            });
            said.collect()
        });
        Ok(said.collect())
    }

    /// The row of what a member said about `problem` in `role`.
    pub(super) fn attempt(
        &self,
        (role, problem): (Role, ProblemId),
        said: &Said<'_>,
        judged: Judged,
        reward: Reward,
    ) -> Result<AttemptRecord, PlanError> {
        let run = self.draft.run.run;
        Ok(AttemptRecord {
            id: said.sample.attempt(run),
            problem,
            solver: self.draft.members[self.player(role)?].playing(run),
            role,
            sample: said.sample.index,
            text: said.completion.text.clone(),
            well_formed: judged.answer.is_ok(),
            answer: judged.answer.ok(),
            status: judged.status,
            reason: judged.reason,
            correct: judged.correct,
            reward: reward.total,
            reward_parts: reward.parts,
            tokens: said.completion.tokens,
        })
    }
}
