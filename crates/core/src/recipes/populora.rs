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
use crate::config::RunConfig;
use crate::contract::{self, Capabilities, Metric, Plan, PlanError, Role, RunState, StepView};
use crate::dataset::DatasetUse;
use crate::fault::Faults;
use crate::kit::code::{WarmUp, metrics};
use crate::kit::resolved;

#[derive(Clone, Copy, Debug)]
pub struct Populora;

impl contract::TypedPlanner for Populora {
    type Parameters = Parameters;
    type Memory = Memory;

    const NAME: &'static str = "populora";
    const SUMMARY: &'static str = "Populations of teachers and students co-evolve (PopuLoRA); with one member in both roles, the paper's baseline.";

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolved(config, parameters::check)
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

impl contract::TypedRecipe for Populora {
    fn conversations(&self, parameters: &Parameters) -> Option<&'static str> {
        parameters.prompts.has_conversations().then_some("/parameters/prompts")
    }

    fn sums_of_rates(&self, config: &RunConfig, parameters: &Parameters) -> Vec<(&'static str, f64)> {
        vec![("/parameters/learning/optimizer/learning_rate", parameters.learning.sum_of_rates(config.steps))]
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Teacher, Role::Student]
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics()
    }

    fn datasets(&self, parameters: &Parameters) -> Vec<DatasetUse> {
        parameters.problems.datasets()
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
