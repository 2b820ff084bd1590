//! What a config says of a run of SAGE.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RewardWeights;
use crate::{
    advantage::Whitening,
    config::RunConfig,
    contract::{Gates, PlanError, Role, ScoreScale},
    kit::{
        ItemConfig, LearningConfig,
        config::{MAX_BATCH, MAX_SAMPLES},
        rows::TrainingSet,
    },
    prompt::PromptConfig,
    work::{Optimizer, Sampling},
};

/// What a config says of a run of SAGE. The defaults are the paper's; what it leaves out is as in Multi-Agent Evolve's
/// code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The tasks to start from: a dataset imported for training, of mathematics, and of code if there is `code`. They are
    /// the first of the growing set, and never leave it.
    pub dataset: TrainingSet,
    /// Tasks of code: challengers write a specification with tests, solvers a program. Left out, tasks are of mathematics
    /// alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeTasks>,
    /// The prompts: the templates `challenge`, `plan`, `solve`, `solve_with_plan`, `critique_question` and
    /// `critique_plan`, and with `code` the same with `_code` in the end. `sage` is for models that follow instructions, `seedling-math` for the small base of this name.
    #[serde(default = "defaults::prompts")]
    pub prompts: PromptConfig,
    /// Tasks that the challenger poses in a step, each like a task of the growing set.
    #[serde(default = "defaults::batch")]
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub challenges: u32,
    /// Answers without a plan to each of them, which estimate its difficulty (N_s). They are not learned from.
    #[serde(default = "defaults::difficulty_samples")]
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub difficulty_samples: u32,
    /// Tasks of the growing set that are planned and solved in a step.
    #[serde(default = "defaults::batch")]
    #[schemars(range(min = 1, max = MAX_BATCH))]
    pub tasks: u32,
    /// The least score, from 0 to 1, with which a task joins the growing set (α).
    #[serde(default = "defaults::question_threshold")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub question_threshold: f64,
    /// The least score, from 0 to 1, with which a plan is shown to the solver (β).
    #[serde(default = "defaults::plan_threshold")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub plan_threshold: f64,
    /// How the critic's numbers become scores from 0 to 1.
    #[serde(default)]
    pub score_scale: ScoreScale,
    /// Whether tasks are planned. Without, the solver always answers directly, and its reward is
    /// `rewards.solver_without_planning`.
    #[serde(default = "defaults::planning")]
    pub planning: bool,
    /// The most tasks of each domain that the growing set has besides those to start from; the oldest leave it.
    #[serde(default = "defaults::pool_size")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub pool_size: u32,
    /// What each role earns.
    #[serde(default)]
    pub rewards: RewardWeights,
    /// How completions are sampled, by what is asked.
    #[serde(default)]
    pub sampling: RoleSampling,
    /// What mean and variance of a role's rewards are taken over when they become advantages (task-relative
    /// REINFORCE++).
    #[serde(default)]
    pub whitening: Whitening,
    /// Roles that play but do not learn: any of `challenger`, `planner`, `solver` and `critic`. Where a role shares its
    /// adapter with others, it still changes with them.
    #[serde(default)]
    pub frozen: Vec<Role>,
    /// How members learn.
    #[serde(default = "defaults::learning")]
    pub learning: LearningConfig,
    /// How a step is cut into items of work: `propose` counts challenges, `solve` tasks that are planned and solved.
    #[serde(default)]
    pub items: ItemConfig,
}

/// Tasks of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CodeTasks {
    /// The fewest assertions that the tests of a challenge must have.
    #[schemars(range(min = 1, max = 100))]
    pub min_tests: u32,
}

impl Default for CodeTasks {
    fn default() -> Self {
        Self { min_tests: 3 }
    }
}

/// How completions are sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RoleSampling {
    /// Tasks, by the challenger.
    pub challenge: Sampling,
    /// Plans, by the planner.
    pub plan: Sampling,
    /// Answers, by the solver, with and without a plan.
    pub solve: Sampling,
    /// Scores, by the critic. If the critic is frozen, temperature 0 is valid: scores are then deterministic.
    pub critique: Sampling,
}

impl Default for RoleSampling {
    fn default() -> Self {
        let sampling = Sampling {
            max_tokens: 8192,
            ..Sampling::default()
        };
        Self {
            challenge: sampling.clone(),
            plan: sampling.clone(),
            solve: sampling.clone(),
            critique: sampling,
        }
    }
}

mod defaults {
    use super::{LearningConfig, Optimizer, PromptConfig};

    pub(super) fn prompts() -> PromptConfig {
        PromptConfig {
            set: "sage".to_owned(),
            ..PromptConfig::default()
        }
    }

    pub(super) fn batch() -> u32 {
        128
    }

    pub(super) fn difficulty_samples() -> u32 {
        5
    }

    pub(super) fn question_threshold() -> f64 {
        0.7
    }

    pub(super) fn plan_threshold() -> f64 {
        0.3
    }

    pub(super) fn planning() -> bool {
        true
    }

    pub(super) fn pool_size() -> u32 {
        65_536
    }

    pub(super) fn learning() -> LearningConfig {
        LearningConfig {
            optimizer: Optimizer {
                learning_rate: 3e-6,
                ..Optimizer::default()
            },
            ..LearningConfig::default()
        }
    }
}

impl Parameters {
    /// The parameters of a resolved config.
    pub(super) fn of(config: &RunConfig) -> Result<Self, PlanError> {
        Ok(Self::deserialize(&config.parameters)?)
    }

    /// The scores that let tasks join the growing set, and plans be shown.
    pub(super) fn gates(&self) -> Gates {
        Gates {
            question: self.question_threshold,
            plan: self.planning.then_some(self.plan_threshold),
            scale: self.score_scale,
        }
    }

    /// Whether members learn from what they do in `role`.
    pub(super) fn learns(&self, role: Role) -> bool {
        !self.frozen.contains(&role)
    }
}
