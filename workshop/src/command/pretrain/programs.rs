//! The curriculum of small Python programs.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, ensure};
use lyceum_curriculum::sample::{Sample, SampleSpec, StoneSpec, StoneTask, TaskKind, Way};
use lyceum_curriculum::steps::{Axis, Steps};
use lyceum_curriculum::{Corpus, CorpusSpec, Executed, tokenizer};
use rand::Rng as _;
use rand::distr::Distribution as _;
use rand::distr::weighted::WeightedIndex;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{PretrainConfig, Share};
use super::curriculum::{Curriculum, Lessons};

/// The curriculum of `models/seedling`, and with stepping stones that of `models/seedling-gasp`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Programs;

/// A task of the curriculum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Lesson {
    /// To propose or to solve a problem.
    Problem(TaskKind),
    /// To write an easier or a harder program than one that is shown.
    Stone(StoneTask),
}

impl TryFrom<String> for Lesson {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let problem = TaskKind::ALL.into_iter().map(Self::Problem);
        let mut all = problem.chain(StoneTask::ALL.into_iter().map(Self::Stone));
        let names: Vec<String> = all.clone().map(|lesson| lesson.to_string()).collect();
        all.find(|lesson| lesson.to_string() == name)
            .ok_or_else(|| format!("`{name}` is not a task of the curriculum: {} are valid", names.join(", ")))
    }
}

impl fmt::Display for Lesson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problem(task) => task.fmt(f),
            Self::Stone(task) => task.fmt(f),
        }
    }
}

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
    /// Stepping stones of each task.
    #[serde(default)]
    pub(super) stones: usize,
    /// Longest completion, in tokens.
    pub(super) max_tokens: usize,
}

impl Curriculum for Programs {
    type Corpus = CorpusSpec;
    type Samples = SampleSpec;
    type Task = Lesson;
    type Evaluation = EvaluationConfig;

    fn tokenizer_json(config: &PretrainConfig<Self>) -> Value {
        match config.samples.stones {
            Some(_) => tokenizer::stones_tokenizer_json(),
            None => tokenizer::tokenizer_json(),
        }
    }

    fn check(config: &PretrainConfig<Self>, phase: &str, task: Lesson, share: &Share) -> anyhow::Result<()> {
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
        if let Lesson::Stone(_) = task {
            ensure!(
                share.trace == 0.0,
                "`{task}.trace` of phase `{phase}` is {}: a stepping stone has no steps to show",
                share.trace
            );
            ensure!(config.samples.stones.is_some(), "`{task}` of phase `{phase}` needs `samples.stones`");
        }
        if let Some(stones) = config.samples.stones {
            ensure!(
                (1..=stones.pairs).contains(&stones.shown) && stones.pairs <= config.corpus.inputs,
                "`samples.stones` shows {} of {} pairs: at least one, and not more pairs than `corpus.inputs` ({})",
                stones.shown,
                stones.pairs,
                config.corpus.inputs
            );
        }
        Ok(())
    }
}

/// Samples about the programs of a corpus.
pub(super) struct ProgramLessons<'a> {
    samples: &'a SampleSpec,
    /// The training programs of each level.
    levels: [Vec<&'a Executed>; 5],
    stairs: Option<Stairs<'a>>,
}

/// Pairs of programs to write stepping stones about.
struct Stairs<'a> {
    spec: &'a StoneSpec,
    programs: Vec<&'a Executed>,
    steps: Steps,
    /// By axis and level, those that have an easier one.
    harder: BTreeMap<Axis, [Vec<usize>; 5]>,
}

impl<'a> ProgramLessons<'a> {
    pub(super) fn new(samples: &'a SampleSpec, corpus: &'a Corpus) -> Self {
        let mut levels: [Vec<&Executed>; 5] = Default::default();
        for executed in &corpus.training {
            levels[usize::from(executed.level.number()) - 1].push(executed);
        }
        let stairs = samples.stones.as_ref().map(|spec| Stairs::new(spec, corpus));
        Self { samples, levels, stairs }
    }

    /// A stepping stone. The level is that of the harder program.
    fn stone(&self, task: StoneTask, share: &Share, rng: &mut ChaCha12Rng) -> anyhow::Result<Sample> {
        let stairs = self.stairs.as_ref().context("`samples.stones` is not set")?;
        let (easier, harder) = stairs
            .draw(task, share, rng)
            .with_context(|| format!("the corpus has no pair of programs for `{task}`"))?;
        Ok(self.samples.write_stone(task, stairs.spec, easier, harder, rng))
    }
}

impl<'a> Stairs<'a> {
    fn new(spec: &'a StoneSpec, corpus: &'a Corpus) -> Self {
        let programs: Vec<&Executed> = corpus.training.iter().collect();
        let steps = Steps::among(&programs);
        let harder = [Axis::Io, Axis::F].map(|axis| {
            let mut levels: [Vec<usize>; 5] = Default::default();
            for (at, program) in programs.iter().enumerate() {
                if !steps.easier(axis, at).is_empty() {
                    levels[usize::from(program.level.number()) - 1].push(at);
                }
            }
            (axis, levels)
        });
        Self { spec, programs, steps, harder: harder.into() }
    }

    /// An easier and a harder program; `None` if there is no pair of the levels that are asked for.
    fn draw(&self, task: StoneTask, share: &Share, rng: &mut ChaCha12Rng) -> Option<(&'a Executed, &'a Executed)> {
        let levels = self.harder.get(&task.axis())?;
        let weights = share.levels.iter().zip(levels).map(|(weight, of)| if of.is_empty() { 0.0 } else { *weight });
        let level = WeightedIndex::new(weights).ok()?.sample(rng);
        let harder = *levels[level].choose(rng)?;
        let easier = *self.steps.easier(task.axis(), harder).choose(rng)?;
        Some((self.programs[easier as usize], self.programs[harder]))
    }
}

impl Lessons<Programs> for ProgramLessons<'_> {
    fn sample(
        &self,
        task: Lesson,
        share: &Share,
        steps: Option<&dyn Fn(&str) -> usize>,
        rng: &mut ChaCha12Rng,
    ) -> anyhow::Result<Sample> {
        let task = match task {
            Lesson::Problem(task) => task,
            Lesson::Stone(task) => return self.stone(task, share, rng),
        };
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
