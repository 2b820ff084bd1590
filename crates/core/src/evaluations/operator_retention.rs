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

pub use self::parameters::{ParentVersion, RetentionParameters, RetentionTask};
pub use self::recovery::{PassRate, Recovery, RowCounts};
pub use self::result::{ChildPoint, ChildResult, ParentPoint, RetentionResult, SeedPoint, TaskResult};
pub(crate) use self::spec::arity;
pub use self::spec::{OperatorRetentionSpec, Parent};

use self::plan::{Step, children};
use crate::artifact::Digest;
use crate::config::RunConfig;
use crate::contract::{self, Plan, PlanError, Records, Role, RunState, StepView};
use crate::fault::Faults;
use crate::kit::Member;

/// The planner of evaluations of type `operator_retention`.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatorRetentionEvaluation;

impl contract::TypedPlanner for OperatorRetentionEvaluation {
    type Parameters = RetentionParameters;
    type Memory = plan::Memory;

    const NAME: &'static str = "evaluation/operator_retention";
    const SUMMARY: &'static str = "How much of their parents do the children of each operator keep?";

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        let parameters = RetentionParameters::read(&config)?;
        // The last step only measures.
        config.steps = parameters.steps + 1;
        Ok(config)
    }

    fn first_memory(&self, _: &RunConfig, parameters: &RetentionParameters) -> plan::Memory {
        let members = children(parameters).map(|child| Member::unborn(child.name(), vec![Role::Solver], 0));
        plan::Memory { members: members.collect(), references: Vec::new(), result: RetentionResult::default() }
    }

    fn held(&self, parameters: &RetentionParameters) -> Result<Vec<Digest>, PlanError> {
        Ok(parameters.weights().map(|adapter| adapter.artifact).collect())
    }

    fn size(&self, parameters: &RetentionParameters) -> Option<(u64, u64)> {
        let rows = parameters.tasks.iter().map(|task| u64::from(task.rows.min(parameters.rows))).sum();
        let children = (parameters.snapshots.len() * parameters.operators.len()) as u64 * u64::from(parameters.seeds);
        let moments = u64::from(parameters.steps / parameters.every.max(1)) + 2;
        Some((rows, rows * u64::from(parameters.n) * moments * children))
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &RetentionParameters,
        memory: plan::Memory,
    ) -> Result<Plan, PlanError> {
        let training = parameters.training()?;
        let mut step = Step::new(run, view, parameters, &training, memory)?;
        let outcome = step.play();
        let mut plan = step.rows.draft.close(outcome)?;
        // Attempts and versions belong to runs; an evaluation has its result.
        plan.records = Records::default();
        Ok(plan)
    }
}
