//! Parameter groups shared by the self-play recipes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::overhead::{Overhead, stretching};
use super::seeds;
use crate::archive::ArchiveConfig;
use crate::config::RunConfig;
use crate::dataset::{DatasetRef, DatasetUse, Purpose, TestPolicy};
use crate::fault::Fault;
use crate::id::DatasetId;
use crate::kit::{ItemConfig, LearningConfig, SamplingConfig};
use crate::prompt::{PromptConfig, PromptError, PromptSet};
use crate::verify::ProblemKind;

/// Maximum proposals per step: their rows are numbered, and a step's plan is held in memory.
pub(crate) const MOST_PROPOSALS: u32 = 1_000_000;

/// Fills in the prompts' choices for problems of these types; returns their faults.
pub(crate) fn resolve_prompts(prompts: &mut PromptConfig, types: &[ProblemKind]) -> Vec<Fault> {
    match prompts.clone().resolve("/parameters/prompts", types) {
        Ok(resolved) => {
            *prompts = resolved;
            Vec::new()
        }
        Err(faults) => faults,
    }
}

/// The fault of a template that lengthens some characters.
pub(crate) const STRETCHED: &str = "it writes some letters longer than they are, as the filters `escape` and `indent` do, so \
                                    that no limit on problems keeps its prompts within max_prompt_bytes: show fields as they \
                                    are";

/// The problems and where they are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProblemConfig {
    /// The types of problem in play.
    #[schemars(schema_with = "ProblemKind::triples_schema")]
    pub types: Vec<ProblemKind>,
    /// Maximum number of earlier problems of the same type shown to a proposer; drawn uniformly from the pool.
    #[schemars(range(max = 64))]
    pub references: u32,
    /// Inputs of a `code_f` proposal; the solver sees the first half, the hidden rest decides.
    #[schemars(range(min = 2, max = 64))]
    pub num_inputs: u32,
    /// Maximum number of problems of each type in the pool; the oldest are dropped.
    #[schemars(range(min = 1, max = 65536))]
    pub pool_size: u32,
    /// Which valid problems enter the pool.
    pub pool_filter: PoolFilter,
    /// Refuse proposals whose program is one that the prompt shows, whatever its names, constants and layout. Off in the
    /// papers' protocols.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refuse_copies: bool,
    /// Maximum size of a prompt in bytes of UTF-8. References are dropped until a prompt fits, and a problem that
    /// cannot be shown within the limit is invalid. A token is at least one byte, so a prompt never has more tokens
    /// than this.
    #[schemars(range(min = 64, max = 1_048_576))]
    pub max_prompt_bytes: u32,
    /// The shipped problems that the pool starts with: `seedling` or `azr`.
    pub seeds: String,
    /// A dataset in the format of Absolute Zero's seeds that replaces the shipped ones.
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
            refuse_copies: false,
            max_prompt_bytes: 24576,
            seeds: "azr".to_owned(),
            seed_dataset: None,
        }
    }
}

impl ProblemConfig {
    /// The datasets that it names.
    pub(crate) fn datasets(&self) -> Vec<DatasetUse> {
        let seeds = self.seed_dataset.map(|seeds| DatasetUse {
            pointer: "/parameters/problems/seed_dataset".to_owned(),
            dataset: DatasetRef::Id(seeds.id),
            purpose: Purpose::Seeds,
            kinds: &[],
            rows: Some(seeds.rows),
            reward: None,
            // Nobody learns from seeds themselves.
            allow_overlap: true,
            tests: TestPolicy::default(),
            tag: None,
        });
        seeds.into_iter().collect()
    }
}

/// Rows of a dataset to start with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedDataset {
    /// The dataset.
    pub id: DatasetId,
    /// Number of rows to use, from the first.
    #[schemars(range(min = 1, max = 65536))]
    pub rows: u32,
}

/// Which valid problems enter the pool (Absolute Zero's `valid_program_filter`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolFilter {
    /// All.
    All,
    /// Problems that were not always solved.
    NonOne,
    /// Problems that were solved sometimes, but not always.
    NonExtremes,
}

/// The parameter groups of a recipe, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'a> {
    pub(crate) prompts: &'a PromptConfig,
    pub(crate) problems: &'a ProblemConfig,
    pub(crate) sampling: &'a SamplingConfig,
    pub(crate) learning: &'a LearningConfig,
    pub(crate) items: &'a ItemConfig,
    pub(crate) archive: &'a ArchiveConfig,
    /// Whether anyone learns from proposals, and from solutions.
    pub(crate) learns: [bool; 2],
}

impl Groups<'_> {
    /// Faults the schema cannot express. Prompts must be resolved already. A member learns from `batch` proposals per
    /// step.
    pub(crate) fn faults(&self, config: &RunConfig, batch: u32) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        let problems = self.problems;
        let mut types = problems.types.clone();
        types.sort_unstable();
        types.dedup();
        if types.is_empty() || types.len() != problems.types.len() {
            fault("problems/types", "list at least one of code_i, code_o and code_f, each at most once".to_owned());
        }
        if problems.seed_dataset.is_none() && seeds::shipped_text(&problems.seeds).is_none() {
            let detail = format!("there are no seeds `{}`: valid are seedling and azr", problems.seeds);
            fault("problems/seeds", detail);
        }
        for (name, [low, high]) in self.archive.bounds() {
            if !(low.is_finite() && high.is_finite() && low < high) {
                let detail = format!("[{low}, {high}] is not a range: give the lowest value, then a higher one");
                fault(&format!("archive/{name}"), detail);
            }
        }
        let sampled = [&self.sampling.propose, &self.sampling.solve];
        faults.extend(self.learning.faults("/parameters/learning", batch, config.compute, &sampled));
        faults.extend(self.items.faults("/parameters/items", config.compute, &[self.learning]));
        faults.extend(self.sampling.faults(self.learns));
        faults.extend(self.length_faults(config));
        faults
    }

    /// The sizes of the prompts.
    pub(super) fn overhead(&self, prompts: &PromptSet) -> Result<Overhead, PromptError> {
        Overhead::measure(prompts, &self.problems.types, self.problems.num_inputs as usize)
    }

    /// Faults of prompts that cannot be rendered, and of sequences longer than a known model's context.
    fn length_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let mut faults = Vec::new();
        let limit = self.problems.max_prompt_bytes as usize;
        let Ok(overhead) = PromptSet::compile(self.prompts).and_then(|prompts| self.overhead(&prompts)) else {
            return faults;
        };
        if let Some(fault) = self.stretch_fault() {
            faults.push(fault);
        }
        if overhead.largest() >= limit {
            faults.push(Fault::new(
                "/parameters/problems/max_prompt_bytes",
                format!("{limit} is too small: the templates alone take {} bytes", overhead.largest()),
            ));
        }
        let limit = ("problems.max_prompt_bytes", self.problems.max_prompt_bytes);
        faults.extend(context_faults(config, limit, self.sampling));
        faults
    }

    /// Faults of a template that lengthens some characters: no limit on problems could keep its prompts short enough.
    fn stretch_fault(&self) -> Option<Fault> {
        let prompts = PromptSet::compile(self.prompts).ok()?;
        let problems = self.problems;
        let template = stretching(&prompts, &problems.types, problems.num_inputs as usize).ok()??;
        Some(Fault::new(format!("/parameters/prompts/templates/{}", template.name), STRETCHED))
    }
}

/// Faults of prompts of up to `limit` bytes, a field with its value, that leave no room for completions in the context of
/// a known model.
pub(crate) fn context_faults(config: &RunConfig, limit: (&str, u32), sampling: &SamplingConfig) -> Vec<Fault> {
    let mut faults = Vec::new();
    let (field, limit) = limit;
    for population in config.populations.values() {
        let Some(context) = crate::footprint::context_length(&population.base_model.name) else { continue };
        for (name, sampling) in [("propose", &sampling.propose), ("solve", &sampling.solve)] {
            let needed = limit.saturating_add(sampling.max_tokens);
            if needed > context {
                let model = &population.base_model.name;
                let detail = format!(
                    "{} and {field} {limit} are {needed} together, beyond the {context} positions of {model}: at most {} is \
                     valid here",
                    sampling.max_tokens,
                    context.saturating_sub(limit)
                );
                faults.push(Fault::new(format!("/parameters/sampling/{name}/max_tokens"), detail));
            }
        }
    }
    faults
}

// How a run of any recipe with code problems poses and solves them.

/// The parameter groups that all recipes with code problems have, for evaluations, in which nobody learns.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Play {
    prompts: PromptConfig,
    pub(crate) problems: ProblemConfig,
    sampling: SamplingConfig,
    learning: LearningConfig,
    items: ItemConfig,
    archive: ArchiveConfig,
}

impl Play {
    pub(crate) fn groups(&self) -> Groups<'_> {
        Groups {
            prompts: &self.prompts,
            problems: &self.problems,
            sampling: &self.sampling,
            learning: &self.learning,
            items: &self.items,
            archive: &self.archive,
            learns: [false; 2],
        }
    }
}
