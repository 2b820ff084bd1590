//! Absolute Zero Reasoner (arXiv 2505.03335) as its released code trains, without the code's defects: one member
//! proposes problems and solves earlier ones; TRR++ whitens each role and type separately; the extremes of difficulty
//! cost −0.5.
//!
//! A step has, for every type, a batch of proposals, whose difficulty is estimated by attempts that are not learned
//! from, and a batch of practice on problems from the buffer as it was before the step; then one update.
//! `docs/DEVIATIONS.md` lists the differences from the code (adapters instead of full fine-tuning, keeping the newest
//! problems instead of the oldest, estimates under the same format rule as practice).

mod step;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::step::Step;
use crate::advantage::Whitening;
use crate::archive::ArchiveConfig;
use crate::config::{RunConfig, pointer_token};
use crate::contract::{self, Capabilities, Metric, Plan, PlanError, Role, RunState, StepView};
use crate::dataset::DatasetUse;
use crate::fault::{Fault, Faults};
use crate::kit::code::{Experience, Groups, MOST_PROPOSALS, ProblemConfig, WarmUp, metrics, resolve_prompts};
use crate::kit::config::{MAX_BATCH, MAX_SAMPLES};
use crate::kit::{
    ItemConfig, LearningConfig, Member, Names, SamplingConfig, founders, frozen_faults, population_faults, resolved,
    single_population_fault,
};
use crate::prompt::PromptConfig;

#[derive(Clone, Copy, Debug)]
pub struct Azr;

impl contract::TypedPlanner for Azr {
    type Parameters = Parameters;
    type Memory = Memory;

    const NAME: &'static str = "azr";
    const SUMMARY: &'static str = "One member proposes problems to itself and solves them (Absolute Zero).";

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolved(config, check)
    }

    fn first_memory(&self, config: &RunConfig, _: &Parameters) -> Memory {
        Memory::new(config)
    }

    fn first_stage(&self, parameters: &Parameters) -> String {
        WarmUp::first_stage(parameters.warm_up).to_owned()
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &Parameters,
        memory: Memory,
    ) -> Result<Plan, PlanError> {
        let mut step = Step::new(run, view, parameters, memory)?;
        let outcome = step.play();
        step.scene.draft.close(outcome)
    }
}

impl contract::TypedRecipe for Azr {
    /// Rewards are whitened by role and type.
    fn compares_answers(&self, _: &Parameters) -> bool {
        false
    }

    fn conversations(&self, parameters: &Parameters) -> Option<&'static str> {
        parameters.prompts.has_conversations().then_some("/parameters/prompts")
    }

    fn sums_of_rates(&self, config: &RunConfig, parameters: &Parameters) -> Vec<(&'static str, f64)> {
        vec![("/parameters/learning/optimizer/learning_rate", parameters.learning.sum_of_rates(config.steps))]
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Proposer, Role::Solver]
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics()
    }

    fn datasets(&self, parameters: &Parameters) -> Vec<DatasetUse> {
        parameters.problems.datasets()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { archives: true, programs: true, ..Capabilities::default() }
    }
}

/// The memory of an Absolute Zero run between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    members: Vec<Member>,
    experience: Experience,
}

impl Memory {
    fn new(config: &RunConfig) -> Self {
        Self { members: founders(config, &mut Names::default()), experience: Experience::default() }
    }
}

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
    /// First steps that reward only form; left out, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
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
            warm_up: None,
            frozen: Vec::new(),
            archive: ArchiveConfig::default(),
            items: ItemConfig::default(),
        }
    }
}

impl Parameters {
    /// The parameter groups shared by recipes of code problems.
    fn groups(&self) -> Groups<'_> {
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

fn check(config: &mut RunConfig, parameters: &mut Parameters) -> Vec<Fault> {
    let mut faults = resolve_prompts(&mut parameters.prompts, &parameters.problems.types);
    let types = u32::try_from(parameters.problems.types.len()).unwrap_or(u32::MAX);
    faults.extend(parameters.groups().faults(config, parameters.batch.saturating_mul(types)));
    faults.extend(single_population_fault(config));
    faults.extend(population_faults(config));
    for (name, population) in &config.populations {
        let place = format!("/populations/{}/members", pointer_token(name));
        let mut roles: Vec<Role> = population.members.iter().flat_map(|group| group.roles.clone()).collect();
        roles.sort_unstable();
        let count: u32 = population.members.iter().map(|group| group.count).sum();
        if roles != [Role::Proposer, Role::Solver] || count != 1 || population.members.len() != 1 {
            let detail = "one member that plays both roles is valid: roles = [\"proposer\", \"solver\"], count = 1";
            faults.push(Fault::new(place, detail));
        }
    }
    let all = parameters.batch.saturating_mul(types);
    if all > MOST_PROPOSALS {
        let detail = format!("{all} proposals a step are too many: {MOST_PROPOSALS} over all types are valid");
        faults.push(Fault::new("/parameters/batch", detail));
    }
    faults.extend(frozen_faults(&parameters.frozen, &[Role::Proposer, Role::Solver]));
    faults
}
