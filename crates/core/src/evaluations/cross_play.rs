//! Evaluations of type `cross_play`: fill cells of a run's matrix that none of its steps has filled (PopuLoRA, appendix
//! 13).
//!
//! A cell is a teacher's stored problems given to a student that has not met it, with exact weights. The attempts are
//! rows of the run, like those of its own cross-evaluations
//! ([`crate::recipes::populora::Parameters::cross_play_every`]), so the matrix fills in; they affect no reward, rating,
//! archive or update.

mod plan;
pub mod result;
mod spec;
#[cfg(test)]
mod tests;

pub use self::plan::{Contestant, CrossPlayCell, CrossPlayParameters};
pub use self::spec::{CrossPlaySpec, Pairing};

use self::plan::CrossPlayStep;
use crate::artifact::Digest;
use crate::config::RunConfig;
use crate::contract::{self, Plan, PlanError, RunState, StepView};
use crate::fault::Faults;

/// The planner of evaluations of type `cross_play`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CrossPlayEvaluation;

impl contract::TypedPlanner for CrossPlayEvaluation {
    type Parameters = CrossPlayParameters;
    type Memory = ();

    const NAME: &'static str = "evaluation/cross_play";
    const SUMMARY: &'static str = "How would solvers do against proposers that they have not met?";

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        CrossPlayParameters::read(&config)?;
        config.steps = 1;
        Ok(config)
    }

    fn first_memory(&self, _: &RunConfig, _: &CrossPlayParameters) {}

    fn held(&self, parameters: &CrossPlayParameters) -> Result<Vec<Digest>, PlanError> {
        Ok(parameters.students.iter().map(|student| student.adapter.artifact).collect())
    }

    fn size(&self, parameters: &CrossPlayParameters) -> Option<(u64, u64)> {
        let attempted: u64 = parameters.cells.iter().map(|cell| cell.problems.len() as u64).sum();
        Some((attempted, attempted * u64::from(parameters.samples)))
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &CrossPlayParameters,
        (): (),
    ) -> Result<Plan, PlanError> {
        let play = parameters.play()?;
        CrossPlayStep::new(run, view, parameters, &play)?.plan()
    }
}
