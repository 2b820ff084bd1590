//! The training batch of each step: determined by the config, the lessons and the step's number.

use lyceum_core::seed;
use lyceum_curriculum::sample::{Part, Sample};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{ModelConfig, Placement};
use lyceum_workshop::pretrain::{PackedBatch, PackedSample, RowPacker, WeightedTokens};
use rand::Rng as _;
use rand::distr::Distribution as _;
use rand::distr::weighted::WeightedIndex;
use rand_chacha::ChaCha12Rng;

use super::config::{Phase, PretrainConfig, Share};
use super::curriculum::{Curriculum, Lessons};

/// Consecutive samples that fit no row before a batch counts as full.
const MISSES: u32 = 6;

/// Draws, tokenizes and packs samples.
pub(super) struct Batches<'a, C: Curriculum> {
    pub(super) config: &'a PretrainConfig<C>,
    pub(super) lessons: &'a dyn Lessons<C>,
    pub(super) tokenizer: &'a Tokenizer,
    pub(super) model: &'a ModelConfig,
    pub(super) placement: Placement,
}

impl<C: Curriculum> Batches<'_, C> {
    pub(super) fn batch(&self, step: u64) -> anyhow::Result<PackedBatch> {
        let mut rng = seed::stream(self.config.seed, "pretrain/batch", step);
        let Some(phase) = self.config.phase(step) else {
            anyhow::bail!("step {step} is in no phase");
        };
        let rows = self.config.rows;
        let mut packer = RowPacker::new(rows.count, rows.tokens);
        let mut misses = 0;
        while misses < MISSES {
            let (sample, traced) = self.draw(phase, &mut rng)?;
            let mut sample = self.tokenized(&sample)?;
            // Answers with steps differ much in length: a long sample asks fewer questions.
            while traced && sample.tokens() > rows.tokens && sample.branches.len() > 1 {
                sample.branches.pop();
            }
            if packer.push(sample).is_err() {
                misses += 1;
            }
        }
        Ok(packer.finish(self.model, self.placement)?)
    }

    /// A sample, and whether its answers show steps.
    fn draw(&self, phase: &Phase<C::Task>, rng: &mut ChaCha12Rng) -> anyhow::Result<(Sample, bool)> {
        let tasks: Vec<(C::Task, Share)> = phase.tasks.iter().map(|(&task, &share)| (task, share)).collect();
        let (task, share) = tasks[WeightedIndex::new(tasks.iter().map(|(_, share)| share.share))?.sample(rng)];
        // Without traces no number is drawn, so that older configs give the same samples.
        let traced = share.trace > 0.0 && rng.random_bool(share.trace);
        let length = |text: &str| self.tokenizer.encode(text).map_or(usize::MAX / 2, |ids| ids.len());
        let steps: Option<&dyn Fn(&str) -> usize> = if traced { Some(&length) } else { None };
        Ok((self.lessons.sample(task, &share, steps, rng)?, traced))
    }

    fn tokenized(&self, sample: &Sample) -> anyhow::Result<PackedSample> {
        let tokens = |parts: &[Part]| -> anyhow::Result<WeightedTokens> {
            let mut tokens = WeightedTokens::default();
            for part in parts {
                tokens.extend(&self.tokenizer.encode(&part.text)?, part.weight);
            }
            Ok(tokens)
        };
        Ok(PackedSample {
            prefix: tokens(&sample.prefix)?,
            branches: sample
                .branches
                .iter()
                .map(|parts| tokens(parts))
                .collect::<Result<_, _>>()?,
        })
    }
}
