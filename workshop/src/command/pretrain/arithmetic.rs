//! The curriculum of arithmetic questions: `models/seedling-math`.

mod card;
mod evaluation;
mod solvers;

use anyhow::ensure;
use lyceum_curriculum::arithmetic::{SampleSpec, Source, Task, Writer, tokenizer_json};
use lyceum_curriculum::{Level, Sample};
use rand::distr::Distribution as _;
use rand::distr::weighted::WeightedIndex;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{PretrainConfig, Share};
use super::curriculum::{Curriculum, Lessons};
pub(super) use card::write as write_card;
pub(super) use evaluation::Evaluator;

/// The curriculum of `models/seedling-math`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Arithmetic;

/// Sizes of the evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvaluationConfig {
    /// Proposals, and as many challenges.
    pub(super) proposals: usize,
    /// Answers to each question at temperature 1.
    pub(super) samples: usize,
    /// Held-out questions of each level.
    pub(super) held_out: usize,
    /// Questions and plans of each level that a critic scores.
    pub(super) critiques: usize,
    /// Longest completion, in tokens.
    pub(super) max_tokens: usize,
}

impl Curriculum for Arithmetic {
    type Corpus = Source;
    type Samples = SampleSpec;
    type Task = Task;
    type Evaluation = EvaluationConfig;

    fn tokenizer_json(_: &PretrainConfig<Self>) -> Value {
        tokenizer_json()
    }

    fn check(config: &PretrainConfig<Self>, phase: &str, task: Task, share: &Share) -> anyhow::Result<()> {
        let (noise, one_in) = (config.samples.score_noise, config.corpus.hold_out_one_in);
        ensure!(one_in >= 2, "`corpus.hold_out_one_in` is {one_in}; it must be at least 2");
        ensure!((0.0..=1.0).contains(&noise), "`samples.score_noise` is {noise}; it must be from 0 to 1");
        ensure!(
            share.trace == 0.0 || matches!(task, Task::Solve | Task::SolveWithPlan),
            "`{task}.trace` of phase `{phase}` is {}; only `solve` and `solve_with_plan` can show steps",
            share.trace
        );
        Ok(())
    }
}

/// The writer of a config's samples.
pub(super) fn lessons(config: &PretrainConfig<Arithmetic>) -> anyhow::Result<Writer<'_>> {
    Ok(Writer::new(&config.corpus, &config.samples)?)
}

impl Lessons<Arithmetic> for Writer<'_> {
    fn sample(
        &self,
        task: Task,
        share: &Share,
        steps: Option<&dyn Fn(&str) -> usize>,
        rng: &mut ChaCha12Rng,
    ) -> anyhow::Result<Sample> {
        let level = Level::ALL[WeightedIndex::new(share.levels(steps.is_some()))?.sample(rng)];
        Ok(self.write(task, level, steps, rng)?)
    }
}
