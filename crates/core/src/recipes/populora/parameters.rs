//! Parameters of a PopuLoRA run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    advantage::Whitening,
    archive::ArchiveConfig,
    config::RunConfig,
    contract::{PlanError, Role},
    evolution::EvolutionConfig,
    kit::{
        ItemConfig, LearningConfig, SamplingConfig,
        code::{Groups, ProblemConfig},
        config::{MAX_BATCH, MAX_SAMPLES},
    },
    prompt::PromptConfig,
    rating::{MatchupScore, TrueSkillConfig},
};

/// Parameters of a PopuLoRA run. Defaults are the paper's, and those of Absolute Zero's code where the paper gives
/// none; `docs/DEVIATIONS.md` lists the choices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// The prompts, and how completions are read.
    pub prompts: PromptConfig,
    /// The problems and where they are kept.
    pub problems: ProblemConfig,
    /// Prompts for proposals per teacher and step, split equally over the types.
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub prompts_per_matchup: u32,
    /// Proposals per prompt. With 1, the group's baseline is 0 and rewards are centred only over the batch.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub proposals_per_prompt: u32,
    /// Attempts by the matched student at each valid problem.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub samples_per_problem: u32,
    /// How completions are sampled.
    pub sampling: SamplingConfig,
    /// How members learn.
    pub learning: LearningConfig,
    /// What advantages are whitened over, within each member's own batch.
    pub whitening: Whitening,
    /// Roles that play but do not learn, as a control.
    pub frozen: Vec<Role>,
    /// What decides a matchup.
    pub matchup_score: MatchupScore,
    /// How ratings are updated.
    pub rating: TrueSkillConfig,
    /// When and how the population evolves.
    pub evolution: EvolutionConfig,
    /// Steps between two full cross-evaluations, in which every student attempts every teacher's problems; only
    /// attempts at the matched teacher's problems are learned from. 0 disables them.
    pub cross_play_every: u32,
    /// Attempts by each student at each problem of a cross-evaluation.
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub cross_play_samples: u32,
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
            prompts_per_matchup: 9,
            proposals_per_prompt: 8,
            samples_per_problem: 8,
            sampling: SamplingConfig::default(),
            learning: LearningConfig::default(),
            whitening: Whitening::Sequence,
            frozen: Vec::new(),
            matchup_score: MatchupScore::default(),
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

    /// The parameter groups shared by recipes of code problems.
    pub(crate) fn groups(&self) -> Groups<'_> {
        Groups {
            prompts: &self.prompts,
            problems: &self.problems,
            sampling: &self.sampling,
            learning: &self.learning,
            items: &self.items,
            archive: &self.archive,
            learns: [Role::Teacher, Role::Student].map(|role| !self.frozen.contains(&role)),
        }
    }
}
