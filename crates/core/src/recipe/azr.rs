//! Absolute Zero Reasoner (arXiv 2505.03335) as its released code trains, without the defects that it has: one member proposes
//! problems and solves earlier ones; TRR++ whitens each role and type apart; the extremes of difficulty cost −0.5.
//!
//! A step: for every type a batch of proposals, whose difficulty is estimated by attempts that nobody learns from, and a batch
//! of practice on problems of the buffer as it stood before the step; then one update. Where Lyceum differs from the code
//! (adapters in place of full fine-tuning, the newest problems kept and not the oldest, estimates under the same format rule
//! as practice) stands in `docs/DEVIATIONS.md`.

mod memory;
mod parameters;
mod practice;
mod resolve;
mod step;
#[cfg(test)]
mod tests;

pub use parameters::Parameters;

use self::{memory::Memory, step::Step};
use super::{Capabilities, Metric, Plan, PlanError, Planner, Recipe, RunState, StepView, code::metrics};
use crate::{
    config::{RunConfig, schema_of},
    fault::Faults,
    id::ExecutionId,
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

    fn metrics(&self) -> Vec<Metric> {
        metrics()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            archives: true,
            ..Capabilities::default()
        }
    }
}
