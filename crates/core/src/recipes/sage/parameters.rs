//! What a config says of a run of SAGE.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ask::{is_needed, reads, templates};
use super::{ROLES, RewardWeights};
use crate::advantage::Whitening;
use crate::config::RunConfig;
use crate::contract::{Gates, Role, ScoreScale};
use crate::fault::Fault;
use crate::kit::config::{MAX_BATCH, MAX_SAMPLES, groups, player_faults};
use crate::kit::room::room_fault;
use crate::kit::rows::TrainingSet;
use crate::kit::{
    ItemConfig, LearningConfig, frozen_faults, population_faults, sampling_faults, single_population_fault,
};
use crate::prompt::PromptConfig;
use crate::work::{Optimizer, Sampling};

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
    /// Replaces the critic's scores of questions, to study what a critic of known quality would change: 1 if Lyceum finds the
    /// stated answer right, 0 if it finds it wrong or cannot evaluate the question (it evaluates arithmetic), and each the other
    /// way round with a probability of 1 less this number, which is the AUC of these scores. Plans keep the critic's scores. Not
    /// valid together with `code`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.5, max = 1.0))]
    pub exact_critic: Option<f64>,
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
        let sampling = Sampling { max_tokens: 8192, ..Sampling::default() };
        Self { challenge: sampling.clone(), plan: sampling.clone(), solve: sampling.clone(), critique: sampling }
    }
}

mod defaults {
    use super::{LearningConfig, Optimizer, PromptConfig};

    pub(super) fn prompts() -> PromptConfig {
        PromptConfig { set: "sage".to_owned(), ..PromptConfig::default() }
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
            optimizer: Optimizer { learning_rate: 3e-6, ..Optimizer::default() },
            ..LearningConfig::default()
        }
    }
}

impl Parameters {
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

pub(super) fn check(config: &mut RunConfig, parameters: &mut Parameters) -> Vec<Fault> {
    let mut faults = population_faults(config);
    faults.extend(single_population_fault(config));
    faults.extend(role_faults(config, parameters.planning));
    let (planning, has_code) = (parameters.planning, parameters.code.is_some());
    let prompts = parameters.prompts.clone();
    let needed = |template: &_| is_needed(template, planning, has_code);
    match prompts.resolve_for("/parameters/prompts", &templates(), needed, &reads) {
        Ok(prompts) => parameters.prompts = prompts,
        Err(found) => faults.extend(found),
    }
    faults.extend(parameters.own_faults(config));
    faults
}

impl Parameters {
    fn own_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let mut faults = self.dataset.faults("/parameters/dataset");
        faults.extend(self.rewards.faults("/parameters/rewards"));
        faults.extend(frozen_faults(&self.frozen, &ROLES));
        if self.exact_critic.is_some() && self.code.is_some() {
            faults.push(Fault::new(
                "/parameters/exact_critic",
                "tasks of code have no answer that it could know; leave it or `code` out",
            ));
        }
        let sampling = &self.sampling;
        for (field, sampling, role) in [
            ("challenge", &sampling.challenge, Role::Challenger),
            ("plan", &sampling.plan, Role::Planner),
            ("solve", &sampling.solve, Role::Solver),
        ] {
            let pointer = format!("/parameters/sampling/{field}");
            faults.extend(sampling_faults(&pointer, sampling, self.learns(role)));
        }
        faults.extend(self.critique_faults());
        faults.extend(self.room_faults(config));
        let sequences = config.populations.values().flat_map(|population| &population.members);
        let sequences = sequences.map(|group| self.sequences(&group.roles));
        let least = sequences.filter(|count| *count > 0).min().unwrap_or(u32::MAX);
        let sampled = [&sampling.challenge, &sampling.plan, &sampling.solve, &sampling.critique];
        faults.extend(self.learning.faults("/parameters/learning", least, config.compute, &sampled));
        faults.extend(self.items.faults("/parameters/items", config.compute, &[&self.learning]));
        faults
    }

    /// Faults of tasks and plans that leave no room for what answers them.
    fn room_faults(&self, config: &RunConfig) -> Vec<Fault> {
        let sampling = &self.sampling;
        let challenge = ("sampling.challenge", &sampling.challenge);
        let plan = ("sampling.plan", &sampling.plan);
        let (solve, critique) = (("sampling.solve", &sampling.solve), ("sampling.critique", &sampling.critique));
        let (alone, planned) = (vec![challenge], vec![challenge, plan]);
        let chains = match self.planning {
            true => vec![(challenge, &alone), (plan, &alone), (solve, &planned), (critique, &planned)],
            false => vec![(challenge, &alone), (solve, &alone), (critique, &alone)],
        };
        let bases = config.populations.values().map(|population| population.base_model.name.as_str());
        let of_base = |base| chains.iter().filter_map(move |(answers, shown)| room_fault(base, *answers, shown));
        bases.flat_map(of_base).collect()
    }

    /// A critic that does not learn may be deterministic (Eq. 12), since each of its prompts has one answer only.
    fn critique_faults(&self) -> Vec<Fault> {
        let sampling = &self.sampling.critique;
        let learns = self.learns(Role::Critic);
        let is_greedy = sampling.temperature == 0.0;
        let checked = Sampling { temperature: if is_greedy { 1.0 } else { sampling.temperature }, ..sampling.clone() };
        let mut faults = sampling_faults("/parameters/sampling/critique", &checked, learns);
        if is_greedy && learns {
            let detail = "a critic that learns must explore: 1 is valid, or `critic` among the `frozen` roles";
            faults.push(Fault::new("/parameters/sampling/critique/temperature", detail));
        }
        faults
    }

    /// The sequences that a member with these roles learns from in every step, at least.
    fn sequences(&self, roles: &[Role]) -> u32 {
        let of_role = |role: &Role| match role {
            Role::Challenger => self.challenges,
            Role::Planner if self.planning => self.tasks,
            Role::Solver => self.tasks,
            // Critics score only what can be read.
            _ => 0,
        };
        let learned = roles.iter().filter(|role| self.learns(**role));
        learned.map(of_role).fold(0, u32::saturating_add)
    }
}

/// Every role is played by one member, and without `planning` nobody is idle.
fn role_faults(config: &RunConfig, planning: bool) -> Vec<Fault> {
    let mut faults = player_faults(config, &ROLES, |role| planning || role != Role::Planner);
    let groups = groups(config).into_iter();
    for (place, _) in groups.filter(|(_, group)| !planning && group.roles == [Role::Planner]) {
        let detail =
            "without `planning` this member has nothing to do: remove it, or set `parameters.planning` to true";
        faults.push(Fault::new(format!("{place}/roles"), detail));
    }
    faults
}
