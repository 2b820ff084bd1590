//! Evaluations of type `goalposts`: checkpoints attempt hard problems many times, and untrained bases as often.
//!
//! A step is one checkpoint and as many problems as fit into memory with all attempts at them. Counts are written as a
//! step ends, so a map fills while the evaluation runs; of the attempts, only those that solve something are kept.

mod plan;
pub mod result;
mod spec;
#[cfg(test)]
mod tests;

pub use self::plan::{GoalpostParameters, GoalpostSubject};
pub use self::result::{GoalpostsMeasured, GoalpostsResult};
pub use self::spec::{GoalpostsSpec, RunCheckpoints};

use self::plan::GoalpostStep;
use self::result::Tally;
use crate::artifact::Digest;
use crate::config::RunConfig;
use crate::contract::{self, Plan, PlanError, RunState, StepView};
use crate::fault::Faults;

/// The planner of evaluations of type `goalposts`.
#[derive(Clone, Copy, Debug, Default)]
pub struct GoalpostsEvaluation;

impl contract::TypedPlanner for GoalpostsEvaluation {
    type Parameters = GoalpostParameters;
    type Memory = Vec<Tally>;

    const NAME: &'static str = "evaluation/goalposts";
    const SUMMARY: &'static str = "Which hard problems do checkpoints solve, and would luck solve them, too?";

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        config.steps = GoalpostParameters::read(&config)?.steps();
        Ok(config)
    }

    fn first_memory(&self, _: &RunConfig, parameters: &GoalpostParameters) -> Vec<Tally> {
        vec![Tally::default(); parameters.subjects.len()]
    }

    fn first_stage(&self, parameters: &GoalpostParameters) -> String {
        parameters.stage(0)
    }

    fn held(&self, parameters: &GoalpostParameters) -> Result<Vec<Digest>, PlanError> {
        let adapters = parameters.subjects.iter().filter_map(|of| of.subject.adapter);
        Ok(adapters.map(|adapter| adapter.artifact).collect())
    }

    fn size(&self, parameters: &GoalpostParameters) -> Option<(u64, u64)> {
        let rows = u64::from(parameters.problems.rows);
        Some((rows, rows * u64::from(parameters.n) * parameters.subjects.len() as u64))
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &GoalpostParameters,
        memory: Vec<Tally>,
    ) -> Result<Plan, PlanError> {
        GoalpostStep::new(run, parameters, view, memory)?.plan()
    }
}
