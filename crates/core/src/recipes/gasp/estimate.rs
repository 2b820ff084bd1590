//! Estimates the pass rates of candidates: the student attempts them as induction.

use std::sync::Arc;

use super::{check::Checked, novelty::Novelty, step::Step};
use crate::{
    contract::{
        Role,
        phase::{ESTIMATE, GRADE_ESTIMATE},
    },
    kit::{
        Progress,
        code::{Desk, Exam, Problem, Sitting},
        join,
    },
    reward::Solved,
};

impl Step<'_> {
    /// How often each candidate of a round was solved that is valid and new, in order.
    pub(super) fn estimate(
        &mut self,
        round: u32,
        checked: &[Checked],
        novelties: &[Option<Novelty>],
    ) -> Progress<Vec<Solved>> {
        let posed = checked.iter().zip(novelties).filter_map(|(checked, novelty)| {
            let problem = checked.problem.as_ref().ok()?;
            let is_new = novelty.as_ref().is_some_and(|novelty| !novelty.is_duplicate);
            is_new.then_some((checked.sample.request, problem))
        });
        let posed: Vec<(u32, &Problem)> = posed.collect();
        let chunks = (0..).zip(posed.chunks(self.parameters.items.solve as usize));
        let solver = self.player(Role::Student)?;
        let prompts = Arc::clone(&self.prompts);
        let desk = Desk {
            prompts: &prompts,
            sampling: &self.parameters.sampling.solve,
        };
        let attempts = join(chunks, |(chunk, posed)| {
            let sittings = posed.iter().map(|(number, problem)| Sitting {
                number: *number,
                problem,
                solver,
            });
            let exam = Exam {
                phases: [ESTIMATE, GRADE_ESTIMATE],
                round,
                chunk,
                samples: self.parameters.trials,
                role: Role::Student,
                keep_tokens: false,
                sittings: sittings.collect(),
            };
            let solved = self.draft.solve(desk, &exam)?;
            self.draft.grade(desk.prompts, &exam, solved)
        })?;
        let solved = attempts.iter().flat_map(|chunk| chunk.iter()).map(|attempts| Solved {
            solved: attempts.iter().filter(|attempt| attempt.correct).count() as u32,
            attempts: attempts.len() as u32,
        });
        Ok(solved.collect())
    }
}
