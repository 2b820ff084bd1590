//! Curricula: the subject of pretraining, with its part of the config, its tokenizer and its samples.

use std::fmt::{Debug, Display};

use lyceum_curriculum::Sample;
use rand_chacha::ChaCha12Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{PretrainConfig, Share};

/// The curricula by the names that configs use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Name {
    /// Small Python programs: `models/seedling`.
    #[default]
    Programs,
    /// Arithmetic questions: `models/seedling-math`.
    Arithmetic,
}

pub(super) trait Curriculum: Debug + Clone + Copy + PartialEq + Send + Sync {
    /// `corpus` in the config: what a resumed run must have in common with the run before.
    type Corpus: Debug + Clone + PartialEq + Serialize + DeserializeOwned + Sync;
    /// `samples` in the config.
    type Samples: Debug + Clone + DeserializeOwned + Sync;
    /// The tasks of a phase.
    type Task: Debug + Clone + Copy + Ord + Display + DeserializeOwned + Sync;
    /// `evaluation` in the config.
    type Evaluation: Debug + Clone + DeserializeOwned + Sync;

    /// The contents of `tokenizer.json`.
    fn tokenizer_json(config: &PretrainConfig<Self>) -> Value;

    /// Refuses a task of a phase that the rest of the config does not allow.
    fn check(config: &PretrainConfig<Self>, phase: &str, task: Self::Task, share: &Share) -> anyhow::Result<()>;
}

/// Writes the samples of a curriculum.
pub(super) trait Lessons<C: Curriculum>: Sync {
    /// A sample of a task. With `steps`, its answers show their steps; it is given the number of tokens of a text.
    fn sample(
        &self,
        task: C::Task,
        share: &Share,
        steps: Option<&dyn Fn(&str) -> usize>,
        rng: &mut ChaCha12Rng,
    ) -> anyhow::Result<Sample>;
}
