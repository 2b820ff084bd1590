//! Estimates how difficult challenges are: the solver answers them without a plan.

use std::sync::Arc;

use super::{
    ask::{Call, Said},
    challenge::Challenge,
    check::Checked,
    solve::plain_prompt,
    step::Step,
    task::Task,
};
use crate::{
    contract::{
        AttemptRecord, PlanError, Role,
        phase::{ESTIMATE, GRADE_ESTIMATE},
    },
    kit::{Progress, rows::Reward},
};

/// How often a task was solved without a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    pub(super) correct: u32,
    pub(super) of: u32,
}

impl Estimate {
    /// The share of answers that are correct.
    pub(super) fn solve_rate(self) -> f32 {
        self.correct as f32 / self.of as f32
    }
}

impl Step<'_> {
    /// For each challenge of a chunk whose verifier is valid, how often it was solved; and the rows of the answers.
    pub(super) fn estimate(
        &mut self,
        chunk: u32,
        challenges: &[Challenge],
        checked: &[Checked],
    ) -> Progress<(Vec<Option<Estimate>>, Vec<AttemptRecord>)> {
        let parameters = self.parameters;
        let call = Call {
            phase: ESTIMATE,
            role: Role::Solver,
            samples: parameters.difficulty_samples,
            sampling: &parameters.sampling.solve,
            is_learned: false,
        };
        let valid = challenges
            .iter()
            .zip(checked)
            .filter_map(|(challenge, task)| Some((challenge.number, Arc::clone(task.as_ref().ok()?))));
        let valid: Vec<(u32, Arc<Task>)> = valid.collect();
        let said = self.ask(call, chunk, &valid, |prompts, task| plain_prompt(prompts, task))?;
        let answers = valid.iter().zip(&said).flat_map(|((_, task), said)| {
            let task = task.as_ref();
            said.iter().map(move |said| (task, said))
        });
        let answers: Vec<(&Task, &Said<'_>)> = answers.collect();
        let judged = self.grade((GRADE_ESTIMATE, chunk), &answers)?;
        let samples = parameters.difficulty_samples;
        let correct = judged.chunks(samples as usize).map(|judged| Estimate {
            correct: judged.iter().filter(|judged| judged.correct).count() as u32,
            of: samples,
        });
        let mut correct = correct.collect::<Vec<_>>().into_iter();
        let estimates = checked
            .iter()
            .map(|task| task.as_ref().ok().and_then(|_| correct.next()));
        let estimates = estimates.collect();
        let rows = answers.iter().zip(judged).map(|((task, said), judged)| {
            let nothing = Reward {
                total: 0.0,
                parts: serde_json::json!({}),
            };
            self.attempt((Role::Solver, task.problem), said, judged, nothing)
        });
        Ok((estimates, rows.collect::<Result<_, PlanError>>()?))
    }
}
