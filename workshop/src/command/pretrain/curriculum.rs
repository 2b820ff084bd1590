//! Curricula: the subject of pretraining, with its part of the config, its tokenizer and its samples.

use std::fmt::{Debug, Display};
use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::Path;

use anyhow::Context as _;
use lyceum_core::seed;
use lyceum_curriculum::sample::{Part, Sample};
use lyceum_curriculum::{Corpus, CorpusSpec};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{ModelConfig, Placement};
use lyceum_verifier::Verifier;
use lyceum_worker::progress::progress_bar;
use lyceum_workshop::pretrain::{PackedBatch, PackedSample, RowPacker, WeightedTokens};
use rand::Rng as _;
use rand::distr::Distribution as _;
use rand::distr::weighted::WeightedIndex;
use rand_chacha::ChaCha12Rng;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{Phase, PretrainConfig, Share};

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

#[derive(Serialize, Deserialize)]
struct Stored {
    spec: CorpusSpec,
    corpus: Corpus,
}

/// The corpus of a specification: from `corpus.json` in `work` if it was made from the same specification, else
/// generated.
pub(super) fn load_or_generate(spec: &CorpusSpec, work: &Path, verifier: &Verifier) -> anyhow::Result<Corpus> {
    let path = work.join("corpus.json");
    if path.exists() {
        let file = File::open(&path).with_context(|| path.display().to_string())?;
        let stored: Stored =
            serde_json::from_reader(BufReader::new(file)).with_context(|| path.display().to_string())?;
        if stored.spec == *spec {
            return Ok(stored.corpus);
        }
    }
    let bar = progress_bar(spec.programs.iter().sum::<usize>() as u64, "programs");
    let corpus = Corpus::generate(spec, verifier, &mut |kept| bar.set_position(kept as u64));
    bar.finish_and_clear();
    eprintln!("corpus: {} programs to learn from, {} held out", corpus.training.len(), corpus.held_out.len());
    let partial = path.with_extension("partial");
    let mut file = BufWriter::new(File::create(&partial).with_context(|| partial.display().to_string())?);
    let stored = Stored { spec: spec.clone(), corpus };
    serde_json::to_writer(&mut file, &stored)?;
    file.flush().with_context(|| partial.display().to_string())?;
    std::fs::rename(&partial, &path).with_context(|| path.display().to_string())?;
    Ok(stored.corpus)
}

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
            branches: sample.branches.iter().map(|parts| tokens(parts)).collect::<Result<_, _>>()?,
        })
    }
}
