//! What a config says of a run of PopuLoRA.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    advantage::Whitening,
    archive::ArchiveConfig,
    config::RunConfig,
    evolution::EvolutionConfig,
    prompt::PromptConfig,
    rating::TrueSkillConfig,
    recipe::{
        ItemConfig, LearningConfig, PlanError, Role, SamplingConfig,
        code::{Groups, ProblemConfig},
    },
};

/// What a config says of a run of PopuLoRA. The defaults are the paper's, and where it is silent those of Absolute Zero's
/// code; `docs/DEVIATIONS.md` names the choices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// What models are shown, and how they are read.
    pub prompts: PromptConfig,
    /// What problems are like and where they are kept.
    pub problems: ProblemConfig,
    /// Prompts for proposals of each teacher in each step, split equally over the types.
    #[schemars(range(min = 1, max = 65536))]
    pub prompts_per_matchup: u32,
    /// Proposals drawn for each of these prompts. With one, the group's baseline is 0 and the batch alone centres rewards.
    #[schemars(range(min = 1, max = 1024))]
    pub proposals_per_prompt: u32,
    /// Attempts of the matched student at each valid problem.
    #[schemars(range(min = 1, max = 1024))]
    pub samples_per_problem: u32,
    /// How completions are drawn.
    pub sampling: SamplingConfig,
    /// How members learn.
    pub learning: LearningConfig,
    /// What advantages are whitened over, in each member's own batch.
    pub whitening: Whitening,
    /// Roles that play and do not learn, as a control.
    pub frozen: Vec<Role>,
    /// How ratings move.
    pub rating: TrueSkillConfig,
    /// When and how the population evolves.
    pub evolution: EvolutionConfig,
    /// Steps between two full cross-evaluations, in which every student attempts every teacher's problems; nothing is learned from
    /// the attempts at others than the matched teacher's. 0 never.
    pub cross_play_every: u32,
    /// Attempts of each student at each problem of a cross-evaluation.
    #[schemars(range(min = 1, max = 1024))]
    pub cross_play_samples: u32,
    /// The map of the problem space.
    pub archive: ArchiveConfig,
    /// How a step is cut into items of work.
    pub items: ItemConfig,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            prompts: PromptConfig::default(),
            problems: ProblemConfig::default(),
            prompts_per_matchup: 72,
            proposals_per_prompt: 1,
            samples_per_problem: 8,
            sampling: SamplingConfig::default(),
            learning: LearningConfig::default(),
            whitening: Whitening::Sequence,
            frozen: Vec::new(),
            rating: TrueSkillConfig::default(),
            evolution: EvolutionConfig::default(),
            cross_play_every: 0,
            cross_play_samples: 8,
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

    /// The groups that recipes of code problems share.
    pub(in crate::recipe) fn groups(&self) -> Groups<'_> {
        Groups {
            prompts: &self.prompts,
            problems: &self.problems,
            sampling: &self.sampling,
            learning: &self.learning,
            items: &self.items,
            archive: &self.archive,
        }
    }
}
