//! Parameters of an Absolute Zero run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    advantage::Whitening,
    archive::ArchiveConfig,
    config::RunConfig,
    contract::{PlanError, Role},
    kit::{
        ItemConfig, LearningConfig, SamplingConfig,
        code::{Groups, ProblemConfig},
        config::{MAX_BATCH, MAX_SAMPLES},
    },
    prompt::PromptConfig,
};

/// Parameters of an Absolute Zero run. Defaults are those of its released script for a 7B coder, except for the
/// learning rate, which is PopuLoRA's for adapters; the script's is 1e-6, as in the 7B preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The prompts, and how completions are read.
    pub prompts: PromptConfig,
    /// The problems and where they are kept.
    pub problems: ProblemConfig,
    /// Proposals, and problems to practise on, per type and step.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub batch: u32,
    /// Attempts that estimate the difficulty of a proposal; they are not learned from.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub difficulty_samples: u32,
    /// Practice uses problems from this many recent steps first, then fills up from the whole buffer.
    #[schemars(range(min = 1))]
    pub recent_steps: u32,
    /// How completions are sampled.
    pub sampling: SamplingConfig,
    /// How the member learns.
    pub learning: LearningConfig,
    /// What advantages are whitened over, within each role and type.
    pub whitening: Whitening,
    /// Roles that play but do not learn, as a control: `proposer` or `solver`.
    pub frozen: Vec<Role>,
    /// The map of the problem space.
    pub archive: ArchiveConfig,
    /// How a step is divided into work items.
    pub items: ItemConfig,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            prompts: PromptConfig::default(),
            problems: ProblemConfig::default(),
            batch: 64,
            difficulty_samples: 8,
            recent_steps: 1,
            sampling: SamplingConfig::default(),
            learning: LearningConfig::default(),
            whitening: Whitening::Token,
            frozen: Vec::new(),
            archive: ArchiveConfig::default(),
            items: ItemConfig::default(),
        }
    }
}

impl Parameters {
    /// The parameters of a resolved config.
    pub(super) fn of(config: &RunConfig) -> Result<Self, PlanError> {
        Ok(Self::deserialize(&config.parameters)?)
    }

    /// The parameter groups shared by recipes of code problems.
    pub(super) fn groups(&self) -> Groups<'_> {
        Groups {
            prompts: &self.prompts,
            problems: &self.problems,
            sampling: &self.sampling,
            learning: &self.learning,
            items: &self.items,
            archive: &self.archive,
            learns: [Role::Proposer, Role::Solver].map(|role| !self.frozen.contains(&role)),
        }
    }
}
