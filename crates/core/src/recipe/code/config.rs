//! Groups of parameters that the recipes of self-play share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{overhead::Overhead, seeds};
use crate::{
    archive::ArchiveConfig,
    config::RunConfig,
    fault::Fault,
    id::DatasetId,
    prompt::{PromptConfig, PromptError, PromptSet, task_name},
    recipe::{ItemConfig, LearningConfig, SamplingConfig},
    verify::ProblemKind,
};

/// Proposals of a step, at most: their rows are numbered, and a step's plan is made in memory.
pub(crate) const MOST_PROPOSALS: u32 = 1_000_000;

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
        faults.extend(self.learning.faults(self.items, batch));
        faults.extend(self.sampling.faults());
        faults.extend(self.length_faults(config));
        faults
    }

    /// The sizes of the prompts.
    pub(super) fn overhead(&self, prompts: &PromptSet) -> Result<Overhead, PromptError> {
        Overhead::measure(prompts, &self.problems.types, self.problems.num_inputs as usize)
    }

    /// Prompts that cannot be shown, and sequences that a known model has no positions for.
    fn length_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let mut faults = Vec::new();
        let limit = self.problems.max_prompt_bytes as usize;
        let Ok(overhead) = PromptSet::compile(self.prompts).and_then(|prompts| self.overhead(&prompts)) else {
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
