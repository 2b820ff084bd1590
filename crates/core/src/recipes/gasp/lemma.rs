//! Phases 1 and 2 (Algorithm 1). Phase 1: rounds of lemmas from goalposts, until enough are accepted; then the teacher learns.

use minijinja::context;
use std::sync::Arc;

use super::Axis;
use super::candidate::Ask;
use super::metrics::Tally;
use super::step::{Lemma, Step, Stone};
use crate::contract::{ParentRelation, PlanError};
use crate::kit::Progress;
use crate::kit::rows::PlacedRow;
use crate::problem::Statement;
use crate::prompt::Rendered;
use crate::verify::CodePair;

impl<'a> Step<'a> {
    pub(super) fn make_lemmas(&mut self) -> Progress<Tally<'a>> {
        self.check_goalposts()?;
        let posed = self.rounds(Stone::Lemma, Self::ask_for_lemmas)?;
        let updated = self.update_teacher(&posed)?;
        let lemmas = posed.accepted().map(|candidate| Lemma { problem: candidate.problem, axis: candidate.axis });
        self.memory.lemmas = lemmas.collect();
        self.memory.lifts.clear();
        Ok(self.buffered(Stone::Lemma, posed, updated))
    }

    /// Renders the prompts of all goalposts in the first step, so that one that cannot be shown ends a run before anything is
    /// learned.
    fn check_goalposts(&mut self) -> Progress<()> {
        if self.draft.run.step > 0 {
            return Ok(());
        }
        let (dataset, rows) = self.parameters.goalposts.settled()?;
        let goalposts = self.draft.placed_rows_as("goalposts", dataset, 0..rows)?;
        let view = self.draft.view;
        view.once("goalposts", || {
            for goalpost in goalposts.values() {
                for axis in &self.parameters.axes {
                    self.lemma_prompt(*axis, goalpost)?;
                }
            }
            Ok::<_, PlanError>(())
        })?;
        Ok(())
    }

    /// The prompts of a round: goalposts drawn from the dataset, each with an axis of its own. Enters the goalposts as
    /// problems.
    fn ask_for_lemmas(&mut self, round: u32) -> Progress<Arc<Vec<Ask>>> {
        let run = self.draft.run;
        let (dataset, rows) = self.parameters.goalposts.settled()?;
        let path = format!("goalposts/{}", run.step);
        let size = self.parameters.rounds.candidates;
        let drawn = self.parameters.sampler.draw(0..rows, size, run.config.seed, &path, round);
        let goalposts = self.draft.placed_rows_as("goalposts", dataset, drawn.iter().copied())?;
        let view = self.draft.view;
        view.once(&format!("asks/{round}"), || {
            let mut asks = Vec::with_capacity(drawn.len());
            for goalpost in goalposts.values() {
                let (question, _) = shown(goalpost)?;
                self.draft.plan.records.problems.push(goalpost.record(question)?);
            }
            for (number, row) in self.numbers(round).zip(&drawn) {
                let missing = || PlanError::Other(format!("goalpost {row} is not in the view"));
                asks.push(self.ask_for_lemma(number, goalposts.get(row).ok_or_else(missing)?)?);
            }
            Ok(asks)
        })
    }

    fn ask_for_lemma(&self, number: u32, goalpost: &PlacedRow) -> Result<Ask, PlanError> {
        let axis = self.axis(number);
        Ok(Ask {
            number,
            axis,
            parent: (goalpost.problem, ParentRelation::Goalpost),
            prompt: self.lemma_prompt(axis, goalpost)?,
        })
    }

    fn lemma_prompt(&self, axis: Axis, goalpost: &PlacedRow) -> Result<Rendered, PlanError> {
        let (question, pairs) = shown(goalpost)?;
        let variables = context! {
            question,
            pairs => self.shown_pairs(&pairs),
            num_inputs => self.parameters.pairs,
        };
        let (prompt, is_short) = self.teacher_prompt(&format!("lemma_{axis}"), variables)?;
        if !is_short {
            let detail = format!(
                "goalpost {} takes {} bytes to show, above max_prompt_bytes of {}: raise it, or leave the row out",
                goalpost.place,
                prompt.text.len(),
                self.parameters.max_prompt_bytes
            );
            return Err(PlanError::Other(detail));
        }
        Ok(prompt)
    }
}

/// What the teacher sees of a goalpost: what a solver would. Its pairs are those of a function.
fn shown(goalpost: &PlacedRow) -> Result<(String, Vec<CodePair>), PlanError> {
    let kind = goalpost.row.oracle.kind();
    let values = goalpost.row.values();
    match values.statement(kind, "") {
        Statement::Function { message, pairs } => {
            let pairs = pairs.into_iter().map(|(input, output)| (input.to_owned(), output.to_owned()));
            Ok((message.to_owned(), pairs.collect()))
        }
        Statement::Code { question, starter_code: Some(code), .. } => Ok((format!("{question}\n\n{code}"), Vec::new())),
        Statement::Code { question, .. } => Ok((question.to_owned(), Vec::new())),
        _ => {
            let detail =
                format!("goalpost {} is a problem of type {}: code or code_f is valid", goalpost.place, kind.name());
            Err(PlanError::Other(detail))
        }
    }
}

// Phase 2: rounds of lifts from the iteration's lemmas, until enough are accepted; then the teacher learns. Prompts show
// lemmas only, never a goalpost.

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
        let drawn = self.parameters.sampler.draw(0..count, size, run.config.seed, &path, round);
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
        Ok(Ask { number, axis, parent: (problem, ParentRelation::Lemma), prompt })
    }
}
