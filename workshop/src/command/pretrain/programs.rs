//! The curriculum of small Python programs.

use anyhow::ensure;
use lyceum_curriculum::sample::{Sample, SampleSpec, TaskKind, Way};
use lyceum_curriculum::{Corpus, CorpusSpec, Executed, tokenizer};
use rand::Rng as _;
use rand::distr::Distribution as _;
use rand::distr::weighted::WeightedIndex;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{PretrainConfig, Share};
use super::curriculum::{Curriculum, Lessons};

/// The curriculum of `models/seedling`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Programs;

/// Sizes of the final evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvaluationConfig {
    /// Proposals of each type.
    pub(super) proposals: usize,
    /// Answers to each valid proposal.
    pub(super) samples: usize,
    /// Held-out programs of each level.
    pub(super) held_out: usize,
    /// Held-out programs of each level for the comparison of answers with and without steps.
    #[serde(default)]
    pub(super) ways: usize,
    /// Longest completion, in tokens.
    pub(super) max_tokens: usize,
}

impl Curriculum for Programs {
    type Corpus = CorpusSpec;
    type Samples = SampleSpec;
    type Task = TaskKind;
    type Evaluation = EvaluationConfig;

    fn tokenizer_json() -> Value {
        tokenizer::tokenizer_json()
    }

    fn check(config: &PretrainConfig<Self>, phase: &str, task: TaskKind, share: &Share) -> anyhow::Result<()> {
        ensure!(
            share.trace == 0.0 || (config.samples.trace.is_some() && config.corpus.traces),
            "`{task}.trace` of phase `{phase}` needs `samples.trace` and `corpus.traces = true`"
        );
        let mut shares = config.samples.guesses.into_iter().flatten();
        ensure!(
            shares.all(|share| (0.0..=1.0).contains(&share)),
            "`samples.guesses` is {:?}: shares from 0 to 1 are valid",
            config.samples.guesses.unwrap_or_default()
        );
        Ok(())
    }
}

/// Samples about the programs of a corpus.
pub(super) struct ProgramLessons<'a> {
    samples: &'a SampleSpec,
    /// The training programs of each level.
    levels: [Vec<&'a Executed>; 5],
}

impl<'a> ProgramLessons<'a> {
    pub(super) fn new(samples: &'a SampleSpec, corpus: &'a Corpus) -> Self {
        let mut levels: [Vec<&Executed>; 5] = Default::default();
        for executed in &corpus.training {
            levels[usize::from(executed.level.number()) - 1].push(executed);
        }
        Self { samples, levels }
    }
}

impl Lessons<Programs> for ProgramLessons<'_> {
    fn sample(
        &self,
        task: TaskKind,
        share: &Share,
        steps: Option<&dyn Fn(&str) -> usize>,
        rng: &mut ChaCha12Rng,
    ) -> anyhow::Result<Sample> {
        // Levels without programs in the corpus are skipped.
        let weights = share
            .levels(steps.is_some())
            .into_iter()
            .zip(&self.levels)
            .map(|(weight, programs)| if programs.is_empty() { 0.0 } else { weight });
        let levels = WeightedIndex::new(weights)?;
        let of_level = |rng: &mut ChaCha12Rng| {
            let programs = &self.levels[levels.sample(rng)];
            programs[rng.random_range(0..programs.len())]
        };
        let executed = of_level(rng);
        let way = match steps {
            Some(length) => Way::Traced(length),
            None => Way::Direct,
        };
        Ok(self.samples.write(task, way, executed, of_level, rng))
    }
}
