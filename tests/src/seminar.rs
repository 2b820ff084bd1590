//! A recipe that combines what R-Zero, SAGE and GASP need: two populations, each with its own base; stages, from which
//! the number of steps follows; a critic; rows of a dataset; and metrics of its own. It is written with the same parts
//! as the shipped recipes, and registered only in tests.

mod ask;
mod metrics;
mod pose;
mod step;

use lyceum_core::{
    config::{RunConfig, schema_of},
    dataset::DatasetUse,
    fault::{Fault, Faults},
    id::{ExecutionId, ProblemId},
    recipe::{
        Capabilities, ItemConfig, LearningConfig, Living, Metric, Names, Plan, PlanError, Planner, Recipe, Role,
        RunState, Stages, StepView, founders, population_faults, read_parameters, rows::TrainingSet, written_out,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
        Stages::new(
            self.iterations,
            [("pose", self.pose), ("drill", self.drill), ("study", self.study)],
        )
    }

    fn of(config: &RunConfig) -> Result<Self, PlanError> {
        Ok(Self::deserialize(&config.parameters)?)
    }
}

/// What a run remembers: its members, and the problems accepted in this iteration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Memory {
    members: Vec<Living>,
    accepted: Vec<ProblemId>,
}

/// The recipe.
#[derive(Clone, Copy, Debug)]
pub struct Seminar;

impl Planner for Seminar {
    fn name(&self) -> &'static str {
        "seminar"
    }

    fn summary(&self) -> &'static str {
        "One population poses and judges problems that another one solves."
    }

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        let parameters: Parameters = read_parameters(&config)?;
        let mut faults = population_faults(&config);
        let groups = || config.populations.values().flat_map(|population| &population.members);
        for role in [Role::Proposer, Role::Critic, Role::Solver] {
            if !groups().any(|group| group.roles.contains(&role)) {
                let detail = format!("nobody plays {}: add a member with this role", role.name());
                faults.push(Fault::new("/populations", detail));
            }
        }
        faults.extend(parameters.stages().settle(&mut config).err());
        Faults(faults).or(())?;
        config.parameters = written_out(&parameters)?;
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let members = founders(config, &mut Names::default());
        let accepted = Vec::new();
        let stage = Parameters::of(config)?.stages().name_at(0);
        Ok(RunState::first(run, config, &Memory { members, accepted })?.in_stage(stage))
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = Parameters::of(&run.config)?;
        let mut step = Step::new(run, view, &parameters)?;
        let outcome = step.play();
        step.rows.draft.close(outcome)
    }
}

impl Recipe for Seminar {
    fn parameters_schema(&self) -> Value {
        schema_of::<Parameters>()
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics()
    }

    fn datasets(&self, config: &RunConfig) -> Result<Vec<DatasetUse>, PlanError> {
        Ok(Parameters::of(config)?
            .dataset
            .usage("/parameters/dataset")
            .into_iter()
            .collect())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stages: true,
            ..Capabilities::default()
        }
    }
}
