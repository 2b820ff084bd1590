//! Phase 2: rounds of lifts from the iteration's lemmas, until enough are accepted; then the teacher learns. Prompts show
//! lemmas alone, never a goalpost.

use minijinja::context;
use std::sync::Arc;

use super::{
    ask::Ask,
    memory::{Lemma, Stone},
    metrics::Tally,
    step::Step,
};
use crate::{
    contract::{ParentRelation, PlanError},
    kit::Progress,
    problem::Statement,
};

impl<'a> Step<'a> {
    pub(super) fn make_lifts(&mut self) -> Progress<Tally<'a>> {
        let posed = self.rounds(Stone::Lift, Self::ask_for_lifts)?;
        let updated = self.update_teacher(&posed)?;
        self.memory.lifts = posed.accepted().map(|candidate| candidate.problem).collect();
        Ok(self.buffered(Stone::Lift, posed, updated))
    }

    /// The prompts of a round: lemmas drawn from those of the iteration, each with its own axis; none without lemmas.
    fn ask_for_lifts(&mut self, round: u32) -> Progress<Arc<Vec<Ask>>> {
        let run = self.draft.run;
        let lemmas = self.memory.lemmas.clone();
        let path = format!("lemmas/{}", run.step);
        let size = self.parameters.rounds.candidates;
        let count = u32::try_from(lemmas.len()).unwrap_or(u32::MAX);
        let drawn = self
            .parameters
            .sampler
            .draw(0..count, size, run.config.seed, &path, round);
        self.draft.problems(lemmas.iter().map(|lemma| lemma.problem))?;
        let view = self.draft.view;
        view.once(&format!("asks/{round}"), || {
            let asks = self.numbers(round).zip(drawn);
            let asks = asks.map(|(number, place)| self.ask_for_lift(number, lemmas[place as usize]));
            Ok(asks.collect::<Result<_, PlanError>>()?)
        })
    }

    fn ask_for_lift(&self, number: u32, lemma: Lemma) -> Result<Ask, PlanError> {
        let Lemma { problem, axis } = lemma;
        let posed = self.stone(problem)?;
        let Statement::Function { message, pairs } = posed.statement() else {
            return Err(PlanError::Other(format!("lemma {problem} is not a function")));
        };
        let variables = context! {
            program => posed.program.as_str(),
            message,
            pairs => self.shown_pairs(&pairs),
            num_inputs => self.parameters.pairs,
        };
        // It is short enough: a lemma that is not is invalid.
        let (prompt, _) = self.teacher_prompt(&format!("lift_{axis}"), variables)?;
        Ok(Ask {
            number,
            axis,
            parent: (problem, ParentRelation::Lemma),
            prompt,
        })
    }
}
