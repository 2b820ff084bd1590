//! Evaluations of type `frozen_side`: student versions attempt fresh problems of teacher versions.
//!
//! Each teacher version proposes until enough of its proposals are valid, and every student version attempts them. A
//! run's own solve rate cannot show progress, since both sides move; here each side is held while the other varies.
//! Nothing is learned and no row of a run is written: the matrix is the evaluation's result.

mod plan;
mod result;
mod spec;
#[cfg(test)]
mod tests;

pub use self::{
    plan::{FrozenSideParameters, FrozenVersion},
    result::{FrozenCell, FrozenSideResult, FrozenTeacher, Trend},
    spec::{FrozenSideSpec, Moment},
};

use self::plan::Matrix;
use crate::{
    config::RunConfig,
    contract::{Plan, PlanError, Planner, RunState, StepView},
    fault::Faults,
    id::ExecutionId,
};

/// The planner of evaluations of type `frozen_side`.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrozenSideEvaluation;

impl Planner for FrozenSideEvaluation {
    fn name(&self) -> &'static str {
        "evaluation/frozen_side"
    }

    fn summary(&self) -> &'static str {
        "Lets student versions attempt fresh problems of teacher versions."
    }

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        FrozenSideParameters::read(&config)?;
        config.steps = 1;
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let parameters = FrozenSideParameters::of(config)?;
        let versions = parameters.students.iter().chain(&parameters.teachers);
        Ok(RunState::first(run, config, &())?.holding(versions.map(|version| version.adapter)))
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = FrozenSideParameters::of(&run.config)?;
        let play = parameters.play()?;
        Matrix::new(run, view, &parameters, &play)?.plan()
    }
}
