//! What a config says of a run of GASP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::learnability::Learnability;
use super::step::Stone;
use super::templates::{is_needed, reads, templates};
use super::{Axis, LemmaReward, LiftReward, ROLES, templates};
use crate::advantage::Whitening;
use crate::config::RunConfig;
use crate::contract::Stages;
use crate::dataset::Purpose;
use crate::fault::Fault;
use crate::kit::code::context_faults;
use crate::kit::config::{MAX_BATCH, MAX_SAMPLES, player_faults};
use crate::kit::rows::{Draws, TrainingSet};
use crate::kit::{ItemConfig, LearningConfig, SamplingConfig, population_faults, single_population_fault};
use crate::prompt::{PromptConfig, PromptSet};
use crate::recipes::rlvr;
use crate::work::{Compute, Optimizer, Sampling};

/// Phase 1: lemmas from goalposts.
pub(super) const LEMMA: &str = "lemma";
/// Phase 2: lifts from lemmas.
pub(super) const LIFT: &str = "lift";
/// Phase 3: the student learns from both.
pub(super) const SOLVE: &str = "solve";
/// RLVR on real data.
pub(super) const REAL_DATA: &str = "real_data";

/// What a config says of a run of GASP. The defaults are the paper's, where it gives any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Hard problems to work towards: a dataset imported with purpose `goalposts`, of programs to write. Nobody answers
    /// them in a run.
    pub goalposts: TrainingSet,
    /// How often the stages are repeated.
    #[serde(default = "defaults::iterations")]
    #[schemars(range(min = 1, max = 100_000))]
    pub iterations: u32,
    /// The prompts: the templates `lemma_io`, `lemma_f`, `lift_io` and `lift_f` of the teacher and `solve_code_i`,
    /// `solve_code_o` and `solve_code_f` of the student. `gasp` is for models of some billion parameters,
    /// `seedling-gasp` for a small base of this name.
    #[serde(default = "defaults::prompts")]
    pub prompts: PromptConfig,
    /// How goalposts are drawn for lemmas, and lemmas for lifts.
    #[serde(default = "defaults::sampler")]
    pub sampler: Draws,
    /// Along what difficulty is changed: each lemma draws one of these, and its lifts inherit it.
    #[serde(default = "defaults::axes")]
    #[schemars(length(min = 1, max = 2))]
    pub axes: Vec<Axis>,
    /// How many candidates the teacher makes in a stage.
    #[serde(default)]
    pub rounds: Rounds,
    /// Which lemmas are accepted, and what they earn.
    #[serde(default)]
    pub lemma: LemmaReward,
    /// Whether lifts are made from lemmas. Without, the student learns only from lemmas (appendix C.3).
    #[serde(default = "defaults::lifts")]
    pub lifts: bool,
    /// Which lifts are accepted, and what they earn.
    #[serde(default)]
    pub lift: LiftReward,
    /// What all other candidates earn.
    #[serde(default)]
    pub flaws: FlawRewards,
    /// Which candidates are too similar to accepted ones.
    #[serde(default)]
    pub novelty: NoveltyConfig,
    /// Which candidates the teacher learns from.
    #[serde(default)]
    pub learn_from: LearnFrom,
    /// Attempts by which a candidate's pass rate is estimated (N), all of them induction. They are not learned from.
    #[serde(default = "defaults::trials")]
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub trials: u32,
    /// Inputs of a proposal, which become its pairs of input and output.
    #[serde(default = "defaults::pairs")]
    #[schemars(range(min = 3, max = 64))]
    pub pairs: u32,
    /// Pairs that prompts show, the first ones. The others decide whether an answer is right.
    #[serde(default = "defaults::shown")]
    #[schemars(range(min = 1, max = 63))]
    pub shown: u32,
    /// Maximum size of a prompt in bytes of UTF-8. A proposal that cannot be shown within the limit is invalid. A token
    /// is at least one byte, so a prompt never has more tokens than this.
    #[serde(default = "defaults::max_prompt_bytes")]
    #[schemars(range(min = 64, max = 1_048_576))]
    pub max_prompt_bytes: u32,
    /// The stage in which the student learns.
    #[serde(default)]
    pub solve: SolveStage,
    /// RLVR after each iteration, with the parameters of the recipe `rlvr`; left out, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub real_data: Option<rlvr::Parameters>,
    /// Steps of RLVR after each iteration, if there is `real_data`.
    #[serde(default = "defaults::real_data_steps")]
    #[schemars(range(min = 1, max = 10_000))]
    pub real_data_steps: u32,
    /// How completions are sampled: those of the teacher, and those of the student, whether learned from or not.
    #[serde(default = "defaults::sampling")]
    pub sampling: SamplingConfig,
    /// What mean and variance of rewards are taken over when they become advantages (task-relative REINFORCE++).
    #[serde(default)]
    pub whitening: Whitening,
    /// How members learn.
    #[serde(default = "defaults::learning")]
    pub learning: LearningConfig,
    /// How a step is cut into items of work.
    #[serde(default)]
    pub items: ItemConfig,
}

/// How many candidates the teacher makes in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rounds {
    /// The number of candidates to accept (M). The first ones count, in the order of their indices.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub target: u32,
    /// Candidates of a round.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub candidates: u32,
    /// The most rounds; a stage that has not accepted enough by then goes on with what it has.
    #[schemars(range(min = 1, max = 1000))]
    pub max: u32,
}

/// What candidates earn that are not accepted for their pass rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlawRewards {
    /// A pass rate outside of the band (Eq. 4 and 5).
    #[schemars(range(min = -10.0, max = 1.0))]
    pub out_of_band: f32,
    /// Too similar to another one. The paper does not say what such a candidate earns.
    #[schemars(range(min = -10.0, max = 1.0))]
    pub duplicate: f32,
    /// Malformed, unsafe or not deterministic.
    #[schemars(range(min = -10.0, max = 1.0))]
    pub invalid: f32,
}

/// Which candidates are too similar to accepted lemmas and lifts, and to candidates of lower indices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NoveltyConfig {
    /// Whether they are rejected. Without, similarities are only measured.
    pub rejects: bool,
    /// The highest cosine similarity that is new enough.
    #[schemars(range(min = -1.0, max = 1.0))]
    pub threshold: f64,
    /// Whether similarities are those of embeddings minus the mean of the run's first ones. Means of hidden states are
    /// all alike, so similarities of small models are close to 1 without it.
    pub centred: bool,
}

/// Which candidates the teacher learns from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LearnFrom {
    /// All of a stage, so that negative rewards teach as well (section 3.3.1).
    #[default]
    Judged,
    /// Those that were accepted (Algorithm 1).
    Accepted,
}

/// The stage in which the student learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SolveStage {
    /// Attempts at each accepted lemma and lift.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub samples: u32,
}

impl Default for Rounds {
    fn default() -> Self {
        Self { target: 64, candidates: 64, max: 10 }
    }
}

impl Default for FlawRewards {
    fn default() -> Self {
        Self { out_of_band: -0.5, duplicate: -0.5, invalid: -1.0 }
    }
}

impl Default for NoveltyConfig {
    fn default() -> Self {
        Self { rejects: true, threshold: 0.95, centred: false }
    }
}

impl Default for SolveStage {
    fn default() -> Self {
        Self { samples: 1 }
    }
}

mod defaults {
    use super::{Axis, Draws, LearningConfig, Optimizer, PromptConfig, Sampling, SamplingConfig};

    pub(super) fn iterations() -> u32 {
        50
    }

    pub(super) fn prompts() -> PromptConfig {
        PromptConfig { set: "gasp".to_owned(), ..PromptConfig::default() }
    }

    pub(super) fn sampler() -> Draws {
        Draws::Uniform
    }

    pub(super) fn axes() -> Vec<Axis> {
        Axis::ALL.to_vec()
    }

    pub(super) fn lifts() -> bool {
        true
    }

    pub(super) fn trials() -> u32 {
        10
    }

    pub(super) fn pairs() -> u32 {
        5
    }

    pub(super) fn shown() -> u32 {
        2
    }

    pub(super) fn max_prompt_bytes() -> u32 {
        24576
    }

    pub(super) fn real_data_steps() -> u32 {
        1
    }

    pub(super) fn sampling() -> SamplingConfig {
        let sampling = Sampling { max_tokens: 8096, ..Sampling::default() };
        SamplingConfig { propose: sampling.clone(), solve: sampling }
    }

    pub(super) fn learning() -> LearningConfig {
        LearningConfig {
            optimizer: Optimizer { learning_rate: 1e-6, ..Optimizer::default() },
            ..LearningConfig::default()
        }
    }
}

impl Parameters {
    /// The stages, from which the number of steps follows. Each of the paper's phases is one step with one update.
    pub(super) fn stages(&self) -> Stages {
        let real_data = self.real_data.as_ref().map_or(0, |_| self.real_data_steps);
        let stages = [(LEMMA, 1), (LIFT, u32::from(self.lifts)), (SOLVE, 1), (REAL_DATA, real_data)];
        Stages::new(self.iterations, stages)
    }

    /// What lemmas or lifts earn.
    pub(super) fn learnability(&self, stone: Stone) -> Learnability {
        match stone {
            Stone::Lemma => self.lemma.learnability(),
            Stone::Lift => self.lift.learnability(),
        }
    }
}

pub(super) fn check(config: &mut RunConfig, parameters: &mut Parameters) -> Vec<Fault> {
    let mut faults = population_faults(config);
    faults.extend(single_population_fault(config));
    faults.extend(player_faults(config, &ROLES, |_| true));
    let Parameters { axes, lifts, .. } = &*parameters;
    let prompts = parameters.prompts.clone();
    let needed = |template: &_| is_needed(template, axes, *lifts);
    match prompts.resolve_for("/parameters/prompts", &templates(), needed, &reads) {
        Ok(prompts) => parameters.prompts = prompts,
        Err(found) => faults.extend(found),
    }
    faults.extend(parameters.own_faults(config));
    faults.extend(parameters.stages().settle(config).err());
    faults
}

impl Parameters {
    fn own_faults(&mut self, config: &RunConfig) -> Vec<Fault> {
        let mut faults = self.goalposts.faults_for(Purpose::Goalposts, "/parameters/goalposts");
        faults.extend(self.lemma.learnability().faults("/parameters/lemma"));
        faults.extend(self.lift.learnability().faults("/parameters/lift"));
        if self.axes.iter().any(|axis| count(&self.axes, *axis) > 1) {
            faults.push(Fault::new("/parameters/axes", "an axis is listed twice: list `io`, `f` or both"));
        }
        if self.shown >= self.pairs {
            let detail = format!(
                "{} of {} pairs would leave none to judge answers by: 1 to {} is valid",
                self.shown,
                self.pairs,
                self.pairs.saturating_sub(1)
            );
            faults.push(Fault::new("/parameters/shown", detail));
        }
        if let Some(real_data) = &mut self.real_data {
            faults.extend(real_data_faults(real_data, config.compute));
        }
        faults.extend(self.sampling.faults([true, true]));
        let limit = ("max_prompt_bytes", self.max_prompt_bytes);
        faults.extend(context_faults(config, limit, &self.sampling));
        if let Ok(prompts) = PromptSet::compile(&self.prompts) {
            faults.extend(templates::faults(&prompts, self));
        }
        // Stages may accept nothing, so there is no least number of sequences.
        faults.extend(self.learning.faults(
            "/parameters/learning",
            u32::MAX,
            config.compute,
            &[&self.sampling.propose, &self.sampling.solve],
        ));
        faults.extend(self.items.faults("/parameters/items", config.compute, &[&self.learning]));
        faults
    }
}

fn count(axes: &[Axis], axis: Axis) -> usize {
    axes.iter().filter(|known| **known == axis).count()
}

fn real_data_faults(real_data: &mut rlvr::Parameters, compute: Compute) -> Vec<Fault> {
    let mut faults = real_data.faults("/parameters/real_data", 1, compute);
    if real_data.held_out.is_some() {
        let detail = "this recipe measures no rows of its real data: remove it, and measure on `benchmarks`";
        faults.push(Fault::new("/parameters/real_data/held_out", detail));
    }
    if real_data.slices {
        let detail = "one student learns from all rows: false is valid";
        faults.push(Fault::new("/parameters/real_data/slices", detail));
    }
    faults
}
