//! Evaluations of type `goalposts`: checkpoints attempt hard problems many times, and untrained bases as often.
//!
//! A step is one checkpoint and as many problems as fit into memory with all attempts at them. Counts are written as a
//! step ends, so a map fills while the evaluation runs; of the attempts, only those that solve something are kept.

mod plan;
pub mod result;
mod spec;
#[cfg(test)]
mod tests;

pub use self::{
    plan::{GoalpostParameters, GoalpostSubject},
    result::{GoalpostsMeasured, GoalpostsResult},
    spec::{Climb, GoalpostsSpec},
};

use self::{plan::GoalpostStep, result::Tally};
use crate::{
    config::RunConfig,
    contract::{Plan, PlanError, Planner, RunState, StepView},
    fault::Faults,
    id::ExecutionId,
};

/// The planner of evaluations of type `goalposts`.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoalpostsEvaluation;

impl Planner for GoalpostsEvaluation {
    fn name(&self) -> &'static str {
        "evaluation/goalposts"
    }

    fn summary(&self) -> &'static str {
        "Lets checkpoints attempt hard problems many times."
    }

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        config.steps = GoalpostParameters::read(&config.parameters)?.steps();
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let parameters = GoalpostParameters::of(config)?;
        let tallies = vec![Tally::default(); parameters.subjects.len()];
        let adapters = parameters.subjects.iter().filter_map(|of| of.subject.adapter);
        Ok(RunState::first(run, config, &tallies)?
            .in_stage(parameters.stage(0))
            .holding(adapters))
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = GoalpostParameters::of(&run.config)?;
        GoalpostStep::new(run, &parameters, view)?.plan()
    }
}
