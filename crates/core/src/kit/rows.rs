//! Dataset rows as problems, shared by recipes that learn from a fixed set (RLVR, the real-data stage of GASP).

mod answer;
mod asking;
mod fit;
mod held_out;
mod learners;
mod metrics;
mod question;
mod reward;
mod sampler;
mod training_set;

pub use self::{
    answer::Answer,
    asking::Asking,
    fit::Fitted,
    held_out::{HeldOut, Measured},
    question::{PlacedRow, Question},
    reward::{Reward, RewardConfig, SolutionReward},
    sampler::Sampler,
    training_set::TrainingSet,
};
pub(crate) use self::{
    fit::FIT,
    metrics::{Outcomes, all_metrics, metrics, records, row_answers},
};
pub use crate::contract::RowsAsked;

use std::sync::Arc;

use super::{Draft, Living};
use crate::{
    benchmark::PromptStyle,
    contract::{PlanError, RunState, StepView},
};

/// A step being planned, with rows of a dataset as its problems.
pub struct Rows<'a> {
    /// The step.
    pub draft: Draft<'a>,
    /// How rows are rendered as prompts, and answers read.
    style: Arc<PromptStyle>,
}

impl<'a> Rows<'a> {
    /// A step of these members, with the prompt style called `style`.
    pub fn new(run: &'a RunState, view: &'a StepView, style: &str, members: Vec<Living>) -> Result<Self, PlanError> {
        let shipped = || PromptStyle::shipped(style).map_err(|error| PlanError::Other(error.to_string()));
        Ok(Self {
            draft: Draft::new(run, view, members),
            style: view.once("style", shipped)?,
        })
    }
}
