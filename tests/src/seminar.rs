//! A recipe that combines what R-Zero, SAGE and GASP need: two populations, each with its own base; stages, from which
//! the number of steps follows; a critic; rows of a dataset; and metrics of its own. It is written with the same parts
//! as the shipped recipes, and registered only in tests.

mod ask;
mod metrics;
mod pose;
mod step;

use lyceum_core::config::RunConfig;
use lyceum_core::dataset::DatasetUse;
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::id::ProblemId;
use lyceum_core::recipe::rows::TrainingSet;
use lyceum_core::recipe::{
    Capabilities, ItemConfig, LearningConfig, Member, Metric, Names, Plan, PlanError, Role, RunState, Stages, StepView,
    TypedPlanner, TypedRecipe, founders, population_faults, resolved,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::step::Step;

/// The parameters of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Rows that are studied.
    pub dataset: TrainingSet,
    /// How often the stages are repeated.
    #[serde(default = "two")]
    #[schemars(range(min = 1))]
    pub iterations: u32,
    /// Steps in which the proposer learns to pose problems.
    #[serde(default = "two")]
    pub pose: u32,
    /// Steps in which the solvers learn from accepted problems.
    #[serde(default = "one")]
    pub drill: u32,
    /// Steps in which the solvers learn from rows of the dataset.
    #[serde(default = "one")]
    pub study: u32,
    /// How members learn.
    #[serde(default)]
    pub learning: LearningConfig,
    /// How a step is divided into items.
    #[serde(default)]
    pub items: ItemConfig,
}

fn one() -> u32 {
    1
}

fn two() -> u32 {
    2
}

impl Parameters {
    fn stages(&self) -> Stages {
        Stages::new(self.iterations, [("pose", self.pose), ("drill", self.drill), ("study", self.study)])
    }
}

/// What a run remembers: its members, and the problems accepted in this iteration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    members: Vec<Member>,
    accepted: Vec<ProblemId>,
}

/// The recipe.
#[derive(Clone, Copy, Debug)]
pub struct Seminar;

impl TypedPlanner for Seminar {
    type Parameters = Parameters;
    type Memory = Memory;

    const NAME: &'static str = "seminar";
    const SUMMARY: &'static str = "One population poses and judges problems that another one solves.";

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolved(config, check)
    }

    fn first_memory(&self, config: &RunConfig, _: &Parameters) -> Memory {
        Memory { members: founders(config, &mut Names::default()), accepted: Vec::new() }
    }

    fn first_stage(&self, parameters: &Parameters) -> String {
        parameters.stages().name_at(0).to_owned()
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
        step.rows.draft.close(outcome)
    }
}

impl TypedRecipe for Seminar {
    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics()
    }

    fn roles(&self) -> Vec<Role> {
        Vec::new()
    }

    fn datasets(&self, parameters: &Parameters) -> Vec<DatasetUse> {
        parameters.dataset.usage("/parameters/dataset").into_iter().collect()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { stages: true, ..Capabilities::default() }
    }
}

fn check(config: &mut RunConfig, parameters: &mut Parameters) -> Vec<Fault> {
    let mut faults = population_faults(config);
    let groups = || config.populations.values().flat_map(|population| &population.members);
    for role in [Role::Proposer, Role::Critic, Role::Solver] {
        if !groups().any(|group| group.roles.contains(&role)) {
            let detail = format!("nobody plays {}: add a member with this role", role.name());
            faults.push(Fault::new("/populations", detail));
        }
    }
    faults.extend(parameters.stages().settle(config).err());
    faults
}
