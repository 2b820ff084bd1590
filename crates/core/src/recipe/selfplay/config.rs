//! Groups of parameters that the recipes of self-play share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

use super::{Scene, overhead::Overhead, seeds};
use crate::{
    archive::ArchiveConfig,
    config::RunConfig,
    fault::Fault,
    id::DatasetId,
    prompt::{PromptConfig, PromptSet, task_name},
    verify::ProblemKind,
    work::{Optimizer, PolicyLoss, Sampling},
};

/// What problems are like and where they are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProblemConfig {
    /// The types that are played.
    #[schemars(schema_with = "ProblemKind::triples_schema")]
    pub types: Vec<ProblemKind>,
    /// Earlier problems of the same type that a proposer is shown, at most; drawn uniformly from the pool.
    #[schemars(range(max = 64))]
    pub references: u32,
    /// Inputs of a `code_f` proposal; the solver is shown the first half, the rest stays hidden and decides.
    #[schemars(range(min = 2, max = 64))]
    pub num_inputs: u32,
    /// Problems of a type that the pool keeps; the oldest are left out beyond it.
    #[schemars(range(min = 1, max = 65536))]
    pub pool_size: u32,
    /// Which valid problems enter the pool.
    pub pool_filter: PoolFilter,
    /// Size of a prompt in bytes of UTF-8, at most. References are left out until a prompt fits, and a problem that could not
    /// be shown within it is invalid. A token is a byte at least, so a prompt never has more tokens than this.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub max_prompt_bytes: u32,
    /// The problems that the pool begins with: those shipped as `seedling` or `azr`.
    pub seeds: String,
    /// A dataset in the format of Absolute Zero's seeds, in place of the shipped ones.
    pub seed_dataset: Option<SeedDataset>,
}

impl Default for ProblemConfig {
    fn default() -> Self {
        Self {
            types: vec![ProblemKind::CodeI, ProblemKind::CodeO, ProblemKind::CodeF],
            references: 6,
            num_inputs: 10,
            pool_size: 16384,
            pool_filter: PoolFilter::All,
            max_prompt_bytes: 24576,
            seeds: "azr".to_owned(),
            seed_dataset: None,
        }
    }
}

/// Rows of a dataset to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedDataset {
    /// The dataset.
    pub id: DatasetId,
    /// How many of its rows, from the first.
    #[schemars(range(min = 1, max = 65536))]
    pub rows: u32,
}

/// Which valid problems enter the pool (Absolute Zero's `valid_program_filter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolFilter {
    /// All.
    All,
    /// Those that were not always solved.
    NonOne,
    /// Those that were solved sometimes, but not always.
    NonExtremes,
}

/// How completions are drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SamplingConfig {
    /// Proposals.
    pub propose: Sampling,
    /// Solutions. Texts that end a completion, besides those given, come from the prompts' grammar.
    pub solve: Sampling,
}

/// How members learn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LearningConfig {
    /// The loss.
    pub loss: PolicyLoss,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// Tokens of one micro-batch, at most.
    #[schemars(range(min = 1))]
    pub micro_batch_tokens: u32,
    /// Compute each layer's activations a second time, so that a large base fits.
    pub recompute: bool,
    /// Rewards are multiplied by this before advantages are taken; −1 turns what is learned around, as a control.
    pub reward_scale: f32,
}

impl Default for LearningConfig {
    fn default() -> Self {
        Self {
            loss: PolicyLoss::default(),
            optimizer: Optimizer::default(),
            micro_batch_tokens: 16384,
            recompute: true,
            reward_scale: 1.0,
        }
    }
}

/// How a step is cut into items of work. It is part of the config because results depend on it in their last bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ItemConfig {
    /// Prompts of one `propose` item; their checks are one item, too.
    #[schemars(range(min = 1, max = 65536))]
    pub propose: u32,
    /// Proposals whose solutions are drawn in one `solve` item; their verdicts are one item, too.
    #[schemars(range(min = 1, max = 65536))]
    pub solve: u32,
    /// Members of one `update` item.
    #[schemars(range(min = 1, max = 1024))]
    pub update: u32,
    /// Parts that the gradient of an `update` item is cut into, each an item that any worker can take, and one more that sums
    /// them in their order and steps. With one the item computes the gradient itself. More spread a run of one member over
    /// several GPUs; they ask for one epoch of one minibatch.
    #[schemars(range(min = 1, max = 1024))]
    pub gradient_pieces: u32,
}

impl Default for ItemConfig {
    fn default() -> Self {
        Self {
            propose: 72,
            solve: 72,
            update: 8,
            gradient_pieces: 1,
        }
    }
}

/// The groups of a recipe's parameters, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'a> {
    pub(crate) prompts: &'a PromptConfig,
    pub(crate) problems: &'a ProblemConfig,
    pub(crate) sampling: &'a SamplingConfig,
    pub(crate) learning: &'a LearningConfig,
    pub(crate) items: &'a ItemConfig,
    pub(crate) archive: &'a ArchiveConfig,
}

impl Groups<'_> {
    /// What the schema cannot say. Prompts have been resolved before. A member learns from `batch` proposals a step.
    pub(crate) fn faults(&self, config: &RunConfig, batch: u32) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        let problems = self.problems;
        let mut types = problems.types.clone();
        types.sort_unstable();
        types.dedup();
        if types.is_empty() || types.len() != problems.types.len() {
            fault(
                "problems/types",
                "each of code_i, code_o and code_f may stand here once, and one must".to_owned(),
            );
        }
        if problems.seed_dataset.is_none() && seeds::shipped_text(&problems.seeds).is_none() {
            let detail = format!("there are no seeds `{}`: seedling and azr are shipped", problems.seeds);
            fault("problems/seeds", detail);
        }
        for (name, [low, high]) in self.archive.bounds() {
            if !(low.is_finite() && high.is_finite() && low < high) {
                let detail = format!("[{low}, {high}] is no range: the lowest value, then a higher one");
                fault(&format!("archive/{name}"), detail);
            }
        }
        if !self.learning.reward_scale.is_finite() {
            fault(
                "learning/reward_scale",
                format!("{}: any finite number is valid", self.learning.reward_scale),
            );
        }
        let Optimizer {
            beta1,
            beta2,
            eps,
            epochs,
            minibatches,
            ..
        } = self.learning.optimizer;
        for (name, beta) in [("beta1", beta1), ("beta2", beta2)] {
            if beta >= 1.0 {
                // The correction of the moments divides by 1 − beta^t.
                fault(
                    &format!("learning/optimizer/{name}"),
                    format!("{beta}: 0 to below 1 is valid"),
                );
            }
        }
        if eps.partial_cmp(&0.0) != Some(Ordering::Greater) {
            fault("learning/optimizer/eps", format!("{eps}: more than 0 is valid"));
        }
        if let Some(clip_dual) = self.learning.loss.clip_dual.filter(|clip| *clip <= 1.0) {
            fault(
                "learning/loss/clip_dual",
                format!("{clip_dual}: more than 1 is valid, or none"),
            );
        }
        if minibatches > batch {
            let detail =
                format!("{batch} proposals cannot be split into {minibatches} minibatches: 1 to {batch} is valid");
            fault("learning/optimizer/minibatches", detail);
        }
        let pieces = self.items.gradient_pieces;
        if pieces > 1 && (epochs, minibatches) != (1, 1) {
            let detail = format!(
                "{pieces} pieces of a gradient make one optimizer step, and {epochs} epochs of {minibatches} minibatches are \
                 more: 1 is valid here"
            );
            fault("items/gradient_pieces", detail);
        }
        for (name, sampling) in [("propose", &self.sampling.propose), ("solve", &self.sampling.solve)] {
            if sampling.max_tokens == 0 {
                fault(
                    &format!("sampling/{name}/max_tokens"),
                    "0 is too small: at least 1 is valid".to_owned(),
                );
            }
            if sampling.temperature.partial_cmp(&0.0) != Some(Ordering::Greater) {
                let detail = format!(
                    "{}: more than 0 is valid, since samples must differ to teach",
                    sampling.temperature
                );
                fault(&format!("sampling/{name}/temperature"), detail);
            }
            if sampling.top_p.partial_cmp(&0.0) != Some(Ordering::Greater) {
                let detail = format!("{}: more than 0 and up to 1 is valid", sampling.top_p);
                fault(&format!("sampling/{name}/top_p"), detail);
            }
            if let Some(empty) = sampling.stop.iter().position(String::is_empty) {
                let detail = "an empty text would end every completion before it begins: leave it out".to_owned();
                fault(&format!("sampling/{name}/stop/{empty}"), detail);
            }
            if let Some(mask) = sampling.vocabulary_mask.as_ref().filter(|mask| mask.keep_rate <= 0.0) {
                let detail = format!(
                    "{}: more than 0 and up to 1 is valid, since a token must stay",
                    mask.keep_rate
                );
                fault(&format!("sampling/{name}/vocabulary_mask/keep_rate"), detail);
            }
        }
        faults.extend(self.length_faults(config));
        faults
    }

    /// Prompts that cannot be shown, and sequences that a known model has no positions for.
    fn length_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let mut faults = Vec::new();
        let limit = self.problems.max_prompt_bytes as usize;
        let Ok(overhead) = Scene::overhead_of(self) else {
            return faults;
        };
        if let Some(fault) = self.stretch_fault(overhead) {
            faults.push(fault);
        }
        if overhead.largest() >= limit {
            faults.push(Fault::new(
                "/parameters/problems/max_prompt_bytes",
                format!(
                    "{limit} is too small: the templates alone take {} bytes",
                    overhead.largest()
                ),
            ));
        }
        for population in config.populations.values() {
            let Some(context) = crate::memory::context_length(&population.base_model.name) else {
                continue;
            };
            for (name, sampling) in [("propose", &self.sampling.propose), ("solve", &self.sampling.solve)] {
                let needed = self.problems.max_prompt_bytes.saturating_add(sampling.max_tokens);
                if needed > context {
                    let model = &population.base_model.name;
                    let detail = format!(
                        "{} and problems.max_prompt_bytes {limit} are {needed} together, beyond the {context} positions of \
                         {model}: at most {} is valid here",
                        sampling.max_tokens,
                        context.saturating_sub(self.problems.max_prompt_bytes)
                    );
                    faults.push(Fault::new(format!("/parameters/sampling/{name}/max_tokens"), detail));
                }
            }
        }
        faults
    }
    /// A template that writes some letters longer than they are: no limit on problems could keep its prompts short enough.
    fn stretch_fault(&self, overhead: Overhead) -> Option<Fault> {
        let prompts = PromptSet::compile(self.prompts).ok()?;
        let problems = self.problems;
        let (act, kind) = overhead
            .stretches(&prompts, &problems.types, problems.num_inputs as usize)
            .ok()??;
        let detail = "it writes some letters longer than they are, as the filters `escape` and `indent` do, so that no limit on \
                      problems keeps its prompts within max_prompt_bytes: show fields as they are";
        Some(Fault::new(
            format!("/parameters/prompts/templates/{}", task_name(act, kind)),
            detail,
        ))
    }
}
