//! Dataset rows as problems, shared by recipes that learn from a fixed set (RLVR, the real-data stage of GASP).

mod answer;
mod asked;
mod asking;
mod fit;
mod held_out;
mod learners;
mod metrics;
mod question;
mod reward;
mod sampler;
mod training_set;

pub use answer::Answer;
pub use asked::RowsAsked;
pub use asking::Asking;
pub use fit::Fitted;
pub use held_out::{HeldOut, Measured};
pub use question::{PlacedRow, Question};
pub use reward::{Reward, RewardConfig, SolutionReward};
pub use sampler::Sampler;
pub use training_set::TrainingSet;

pub(crate) use fit::FIT;
pub(crate) use metrics::{Outcomes, all_metrics, metrics, records, row_answers};

use std::sync::Arc;

use super::{Draft, Living, PlanError, RunState, StepView};
use crate::benchmark::PromptStyle;

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
