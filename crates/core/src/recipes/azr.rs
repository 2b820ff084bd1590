//! Absolute Zero Reasoner (arXiv 2505.03335) as its released code trains, without the code's defects: one member
//! proposes problems and solves earlier ones; TRR++ whitens each role and type separately; the extremes of difficulty
//! cost −0.5.
//!
//! A step has, for every type, a batch of proposals, whose difficulty is estimated by attempts that are not learned
//! from, and a batch of practice on problems from the buffer as it was before the step; then one update.
//! `docs/DEVIATIONS.md` lists the differences from the code (adapters instead of full fine-tuning, keeping the newest
//! problems instead of the oldest, estimates under the same format rule as practice).

mod memory;
mod parameters;
mod practice;
mod resolve;
mod step;
#[cfg(test)]
mod tests;

pub use self::parameters::Parameters;

use self::{memory::Memory, step::Step};
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
pub struct Azr;

impl Planner for Azr {
    fn name(&self) -> &'static str {
        "azr"
    }

    fn summary(&self) -> &'static str {
        "One member proposes problems to itself and solves them (Absolute Zero)."
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolve::resolve(config)
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

impl Recipe for Azr {
    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<Parameters>()
    }

    /// Rewards are whitened by role and type.
    fn compares_answers(&self, _: &RunConfig) -> Result<bool, PlanError> {
        Ok(false)
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Proposer, Role::Solver]
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics()
    }

    fn datasets(&self, config: &RunConfig) -> Result<Vec<DatasetUse>, PlanError> {
        Ok(Parameters::of(config)?.problems.datasets())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            archives: true,
            programs: true,
            ..Capabilities::default()
        }
    }
}
