//! What a config says of a run of RLVR.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

use crate::{
    advantage::AdvantageConfig,
    config::RunConfig,
    contract::{
        PlanError, RowsAsked,
        phase::{GRADE, SOLVE},
    },
    kit::{
        ItemConfig, LearningConfig,
        config::{MAX_BATCH, MAX_SAMPLES},
        rows::{Asking, HeldOut, RewardConfig, Sampler, TrainingSet},
    },
    work::Sampling,
};

/// What a config says of a run of RLVR. The defaults are GASP's (appendix D), except that rows are drawn in epochs and that the
/// learning rate is PopuLoRA's for adapters, 5e-5. The 7B presets draw uniformly and learn at 1e-6, as GASP does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// What is learned from: a dataset imported for training.
    pub dataset: TrainingSet,
    /// How rows are put to the model and answers read: `azr`, `chat`, `completion` or `seedling`, as for benchmarks.
    #[serde(default = "defaults::prompts")]
    pub prompts: String,
    /// How rows are drawn.
    #[serde(default)]
    pub sampler: Sampler,
    /// Whether each member learns from a slice of its own, an equal part of the rows, rather than from all of them.
    #[serde(default)]
    pub slices: bool,
    /// Rows that each member answers in a step.
    #[serde(default = "defaults::batch")]
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub batch: u32,
    /// Answers to each row.
    #[serde(default = "defaults::n")]
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub n: u32,
    /// How answers are drawn. Texts that end one, besides those given, come from the prompts.
    #[serde(default)]
    pub sampling: Sampling,
    /// What answers earn.
    #[serde(default)]
    pub reward: RewardConfig,
    /// Rows that members are measured on and never learn from; none by default.
    #[serde(default)]
    pub held_out: Option<HeldOut>,
    /// How rewards become advantages.
    #[serde(default)]
    pub advantages: AdvantageConfig,
    /// How members learn.
    #[serde(default)]
    pub learning: LearningConfig,
    /// How a step is cut into items of work.
    #[serde(default)]
    pub items: ItemConfig,
}

mod defaults {
    pub(super) fn prompts() -> String {
        "chat".to_owned()
    }

    pub(super) fn batch() -> u32 {
        64
    }

    pub(super) fn n() -> u32 {
        8
    }
}

impl Parameters {
    /// The parameters of a resolved config.
    ///
    /// # Errors
    /// A config that was not resolved, or of another recipe.
    pub fn of(config: &RunConfig) -> Result<Self, PlanError> {
        Ok(Self::deserialize(&config.parameters)?)
    }

    /// The number of rows that are learned from, the first of those used; `None` before the dataset is looked up.
    pub(super) fn learned_rows(&self) -> Option<u32> {
        self.dataset.rows.map(|rows| self.learned_of(rows))
    }

    /// How many of `rows` rows are learned from.
    pub(super) fn learned_of(&self, rows: u32) -> u32 {
        rows.saturating_sub(self.held_out.map_or(0, |held_out| held_out.rows))
    }

    /// The rows that the member at `place` of `members` learns from: all that are learned from, or its slice.
    ///
    /// # Errors
    /// The dataset has not been looked up.
    pub fn task(&self, place: usize, members: usize) -> Result<Range<u32>, PlanError> {
        let learned = self.learned_of(self.dataset.settled()?.1);
        let cut = |place: usize| (u64::from(learned) * place as u64 / members.max(1) as u64) as u32;
        Ok(match self.slices {
            true => cut(place)..cut(place + 1),
            false => 0..learned,
        })
    }

    /// The rows that are asked; `pointer` is that of these parameters.
    pub(crate) fn asked(self, pointer: &'static str) -> Result<RowsAsked, PlanError> {
        let (dataset, rows) = self.dataset.settled()?;
        Ok(RowsAsked {
            pointer,
            dataset,
            rows,
            learned: self.learned_of(rows),
            prompts: self.prompts,
            max_tokens: self.sampling.max_tokens,
        })
    }

    /// How the rows that are learned from are answered.
    pub(crate) fn asking(&self) -> Asking<'_> {
        Asking {
            phases: [SOLVE, GRADE],
            n: self.n,
            sampling: &self.sampling,
            reward: self.reward,
            draws: None,
            is_learned: true,
        }
    }
}
