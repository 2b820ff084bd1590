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

pub use self::{
    plan::{Contestant, CrossPlayCell, CrossPlayParameters},
    spec::{CrossPlaySpec, Pairing},
};

use self::plan::Exams;
use crate::{
    config::RunConfig,
    contract::{Plan, PlanError, Planner, RunState, StepView},
    fault::Faults,
    id::ExecutionId,
};

/// The planner of evaluations of type `cross_play`.
#[derive(Clone, Copy, Debug, Default)]
pub struct CrossPlayEvaluation;

impl Planner for CrossPlayEvaluation {
    fn name(&self) -> &'static str {
        "evaluation/cross_play"
    }

    fn summary(&self) -> &'static str {
        "Lets students attempt problems of teachers they have not met."
    }

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        CrossPlayParameters::read(&config)?;
        config.steps = 1;
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let parameters = CrossPlayParameters::of(config)?;
        let students = parameters.students.iter().map(|student| student.adapter);
        Ok(RunState::first(run, config, &())?.holding(students))
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = CrossPlayParameters::of(&run.config)?;
        let play = parameters.play()?;
        Exams::new(run, view, &parameters, &play)?.plan()
    }
}
