//! What the teacher is asked for.

use minijinja::{Value, context};
use rand::Rng as _;
use std::ops::Range;

use super::{Axis, step::Step};
use crate::{
    contract::{ParentRelation, PlanError},
    id::ProblemId,
    kit::mathematics::prompt_error,
    prompt::Rendered,
    seed::stream,
};

/// One prompt for a candidate.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The candidate's number in the stage, which is also the request's name.
    pub(super) number: u32,
    pub(super) axis: Axis,
    /// The goalpost or the lemma that it is made from.
    pub(super) parent: (ProblemId, ParentRelation),
    pub(super) prompt: Rendered,
}

impl Step<'_> {
    /// The numbers of a round's candidates.
    pub(super) fn numbers(&self, round: u32) -> Range<u32> {
        let size = self.parameters.rounds.candidates;
        round * size..(round + 1) * size
    }

    /// The axis of the lemma with this number.
    pub(super) fn axis(&self, number: u32) -> Axis {
        let run = self.draft.run;
        let axes = &self.parameters.axes;
        let mut random = stream(run.config.seed, &format!("axes/{}", run.step), u64::from(number));
        axes[random.random_range(0..axes.len())]
    }

    /// The prompt of the template `name`, and whether it is within the limit.
    pub(super) fn teacher_prompt(&self, name: &str, variables: Value) -> Result<(Rendered, bool), PlanError> {
        let rendered = self.prompts.render(name, variables).map_err(prompt_error)?;
        let is_short = rendered.text.len() <= self.parameters.max_prompt_bytes as usize;
        Ok((rendered, is_short))
    }

    /// Pairs of input and output as the templates show them.
    pub(super) fn shown_pairs<T: AsRef<str>>(&self, pairs: &[(T, T)]) -> Vec<Value> {
        let spell = |text: &T| self.prompts.spell(text.as_ref());
        let shown = pairs
            .iter()
            .map(|(input, output)| context! { input => spell(input), output => spell(output) });
        shown.collect()
    }
}
