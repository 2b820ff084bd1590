//! PopuLoRA (arXiv 2605.16727): teachers propose problems, the students matched with them solve them, ratings follow
//! from the winners, all adapters learn, and evolution replaces the weakest.
//!
//! A step: pair → propose → check → solve → grade → rate → update all → at intervals: evolve. A single member in both
//! roles is the paper's single-agent baseline: the same rewards and estimator, with its proposals and attempts in one
//! batch.

mod evolve;
mod finish;
mod parameters;
mod step;
#[cfg(test)]
mod tests;

pub use self::parameters::Parameters;

use self::step::{Memory, Step};
use crate::{
    config::{RunConfig, schema_of},
    contract::{Capabilities, Metric, Plan, PlanError, Planner, Recipe, Role, RunState, StepView},
    dataset::DatasetUse,
    fault::Faults,
    id::ExecutionId,
    kit::code::metrics,
};

/// The recipe.
#[derive(Clone, Copy, Debug)]
pub struct Populora;

impl Planner for Populora {
    fn name(&self) -> &'static str {
        "populora"
    }

    fn summary(&self) -> &'static str {
        "Populations of teachers and students co-evolve (PopuLoRA); with one member in both roles, the paper's baseline."
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        parameters::resolve(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        RunState::first(run, config, &Memory::new(config))
    }

    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError> {
        let parameters = Parameters::of(&run.config)?;
        let mut step = Step::new(run, step, &parameters)?;
        let outcome = step.play();
        step.scene.draft.close(outcome)
    }
}

impl Recipe for Populora {
    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<Parameters>()
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Teacher, Role::Student]
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics()
    }

    fn datasets(&self, config: &RunConfig) -> Result<Vec<DatasetUse>, PlanError> {
        Ok(Parameters::of(config)?.problems.datasets())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            rates: true,
            evolves: true,
            archives: true,
            crosses: true,
            programs: true,
            ..Capabilities::default()
        }
    }
}
