//! Evaluations of frozen versions on suites: one step a suite, its slices generated, their samples graded, counted.
//!
//! Generation and grading are items apart, so no device waits for the sandbox. Samples and scores are written when all of a
//! suite is there, in the transaction that ends its step: none is counted twice, whatever was tried again.

mod evaluation_set;
mod plan;
mod spec;
#[cfg(test)]
mod tests;

pub(super) use self::evaluation_set::{Answers, EvaluationSet};
pub use self::plan::{BenchmarkParameters, BenchmarkSubject, SuiteSlice};
pub use self::spec::BenchmarkSpec;

pub(super) use self::plan::SuiteStep;

use self::plan::Scored;
use crate::artifact::Digest;
use crate::config::RunConfig;
use crate::contract::{self, Plan, PlanError, RunState, StepView};
use crate::fault::Faults;

/// The planner of evaluations of type `benchmark`.
#[derive(Clone, Copy, Debug, Default)]
pub struct BenchmarkEvaluation;

impl contract::TypedPlanner for BenchmarkEvaluation {
    type Parameters = BenchmarkParameters;
    type Memory = Vec<Scored>;

    const NAME: &'static str = "evaluation/benchmark";
    const SUMMARY: &'static str = "How good are members on suites?";

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        let parameters = BenchmarkParameters::read(&config)?;
        config.steps = parameters.suites.len() as u32;
        Ok(config)
    }

    fn first_memory(&self, _: &RunConfig, _: &BenchmarkParameters) -> Vec<Scored> {
        Vec::new()
    }

    fn first_stage(&self, parameters: &BenchmarkParameters) -> String {
        let first = parameters.suites.first();
        first.map(|slice| slice.name().to_owned()).unwrap_or_default()
    }

    fn held(&self, parameters: &BenchmarkParameters) -> Result<Vec<Digest>, PlanError> {
        let adapters = parameters.subjects.iter().filter_map(|subject| subject.adapter);
        Ok(adapters.map(|adapter| adapter.artifact).collect())
    }

    fn size(&self, parameters: &BenchmarkParameters) -> Option<(u64, u64)> {
        let rows = parameters.suites.iter().map(|suite| u64::from(suite.rows)).sum();
        let samples = |suite: &SuiteSlice| u64::from(suite.rows) * u64::from(suite.n.unwrap_or(parameters.n));
        let samples: u64 = parameters.suites.iter().map(samples).sum();
        Some((rows, samples * parameters.subjects.len() as u64))
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &BenchmarkParameters,
        memory: Vec<Scored>,
    ) -> Result<Plan, PlanError> {
        SuiteStep::new(run, parameters, view, memory)?.plan()
    }
}
