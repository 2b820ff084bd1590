//! Evaluations of type `operator_retention`: how much of its parents a child retains, and how fast it regains the rest
//! (PopuLoRA, section 4.6 and appendix 15).
//!
//! Parents have learned one task each by `rlvr`. In step 0 children are born of their weights at snapshots, and the base
//! and the parents are measured at steps of their runs; every step the children are measured, if it is due, and trained
//! on their parents' tasks with the settings of the parents' runs. The children are members of one population, so all
//! of them answer and learn in the same batches. Everybody answers the same rows with the same draws.

mod measure;
mod parameters;
mod plan;
mod recovery;
pub mod result;
mod spec;
#[cfg(test)]
mod tests;

pub(crate) use self::spec::arity;
pub use self::{
    parameters::{ParentVersion, RetentionParameters, RetentionTask},
    recovery::{PassRate, Recovery, RowCounts},
    result::{ChildPoint, ChildResult, ParentPoint, RetentionResult, SeedPoint, TaskResult},
    spec::{OperatorRetentionSpec, Parent},
};

use self::plan::{Step, children};
use crate::{
    config::RunConfig,
    contract::{Plan, PlanError, Planner, Records, Role, RunState, StepView},
    fault::Faults,
    id::ExecutionId,
    kit::Living,
};

/// The planner of evaluations of type `operator_retention`.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatorRetentionEvaluation;

impl Planner for OperatorRetentionEvaluation {
    fn name(&self) -> &'static str {
        "evaluation/operator_retention"
    }

    fn summary(&self) -> &'static str {
        "Trains children of evolution operators further and compares them with their parents."
    }

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        let parameters = RetentionParameters::read(&config)?;
        // The last step only measures.
        config.steps = parameters.steps + 1;
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let parameters = RetentionParameters::of(config)?;
        let members = children(&parameters).map(|child| Living::unborn(child.name(), vec![Role::Solver], 0));
        let memory = plan::Memory {
            members: members.collect(),
            references: Vec::new(),
            result: RetentionResult::default(),
        };
        Ok(RunState::first(run, config, &memory)?.holding(parameters.weights()))
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = RetentionParameters::of(&run.config)?;
        let training = parameters.training()?;
        let mut step = Step::new(run, view, &parameters, &training)?;
        let outcome = step.play();
        let mut plan = step.rows.draft.close(outcome)?;
        // Attempts and versions belong to runs; an evaluation has its result.
        plan.records = Records::default();
        Ok(plan)
    }
}
