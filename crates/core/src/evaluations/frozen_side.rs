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

pub use self::plan::{FrozenSideParameters, FrozenVersion};
pub use self::result::{FrozenCell, FrozenSideResult, FrozenTeacher, Trend};
pub use self::spec::{FrozenSideSpec, Moment};

use self::plan::Matrix;
use crate::artifact::Digest;
use crate::config::RunConfig;
use crate::contract::{self, Plan, PlanError, RunState, StepView};
use crate::fault::Faults;

/// The planner of evaluations of type `frozen_side`.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrozenSideEvaluation;

impl contract::TypedPlanner for FrozenSideEvaluation {
    type Parameters = FrozenSideParameters;
    type Memory = ();

    const NAME: &'static str = "evaluation/frozen_side";
    const SUMMARY: &'static str = "Do both sides really improve?";

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        FrozenSideParameters::read(&config)?;
        config.steps = 1;
        Ok(config)
    }

    fn first_memory(&self, _: &RunConfig, _: &FrozenSideParameters) {}

    fn held(&self, parameters: &FrozenSideParameters) -> Result<Vec<Digest>, PlanError> {
        let versions = parameters.students.iter().chain(&parameters.teachers);
        Ok(versions.map(|version| version.adapter.artifact).collect())
    }

    fn size(&self, parameters: &FrozenSideParameters) -> Option<(u64, u64)> {
        let problems = u64::from(parameters.problems) * parameters.teachers.len() as u64;
        let attempts = problems * parameters.students.len() as u64 * u64::from(parameters.samples);
        Some((problems, problems + attempts))
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &FrozenSideParameters,
        (): (),
    ) -> Result<Plan, PlanError> {
        let play = parameters.play()?;
        Matrix::new(run, view, parameters, &play)?.plan()
    }
}
