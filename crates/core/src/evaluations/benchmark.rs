//! Evaluations of frozen versions on suites: one step a suite, its slices generated, their samples graded, counted.
//!
//! Generation and grading are items apart, so no device waits for the sandbox. Samples and scores are written when all of a
//! suite is there, in the transaction that ends its step: none is counted twice, whatever was tried again.

mod plan;
mod sheet;
mod spec;
#[cfg(test)]
mod tests;

pub(super) use self::sheet::Sheet;
pub use self::{
    plan::{BenchmarkParameters, BenchmarkSubject, SuiteSlice},
    spec::BenchmarkSpec,
};

use self::plan::{Scored, SuiteStep};
use crate::{
    config::RunConfig,
    contract::{Plan, PlanError, Planner, RunState, StepView},
    fault::Faults,
    id::ExecutionId,
};

/// The planner of evaluations of type `benchmark`.
#[derive(Clone, Copy, Debug, Default)]
pub struct BenchmarkEvaluation;

impl Planner for BenchmarkEvaluation {
    fn name(&self) -> &'static str {
        "evaluation/benchmark"
    }

    fn summary(&self) -> &'static str {
        "Measures frozen versions on benchmarks."
    }

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        let parameters = BenchmarkParameters::read(&config.parameters)?;
        config.steps = parameters.suites.len() as u32;
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let parameters = BenchmarkParameters::of(config)?;
        let first = parameters.suites.first();
        let state = RunState::first(run, config, &Vec::<Scored>::new())?
            .in_stage(first.map(|slice| slice.name()).unwrap_or_default());
        Ok(state.holding(parameters.subjects.iter().filter_map(|subject| subject.adapter)))
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = BenchmarkParameters::of(&run.config)?;
        SuiteStep::new(run, &parameters, view)?.plan()
    }
}
