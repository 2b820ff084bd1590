//! Reinforcement learning with verifiable rewards on a fixed dataset (GASP, arXiv 2603.15957, section 3.1 and appendix D).
//!
//! A step: draw rows → answer each n times → grade → group-relative advantages → update. Members of the population learn
//! side by side, each from its own draws. Every so many steps they are measured on held-out rows.

mod parameters;
mod resolve;
pub(super) mod step;
#[cfg(test)]
mod tests;

pub use self::parameters::Parameters;

use self::step::{Memory, Step};
use crate::{
    config::{RunConfig, schema_of},
    contract::{Capabilities, Metric, Plan, PlanError, Planner, Recipe, Role, RowsAsked, RunState, StepView},
    dataset::DatasetUse,
    fault::Faults,
    id::ExecutionId,
    kit::{
        Names, founders,
        rows::{all_metrics, metrics},
    },
};

/// The recipe.
#[derive(Clone, Copy, Debug)]
pub struct Rlvr;

impl Planner for Rlvr {
    fn name(&self) -> &'static str {
        "rlvr"
    }

    fn summary(&self) -> &'static str {
        "Members learn from a fixed dataset with verifiable rewards (RLVR)."
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolve::resolve(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let members = founders(config, &mut Names::default());
        let memory = Memory { members, fitted: None };
        RunState::first(run, config, &memory)
    }

    fn plan(&self, run: &RunState, step: &StepView) -> Result<Plan, PlanError> {
        let parameters = Parameters::of(&run.config)?;
        let mut step = Step::new(run, step, &parameters)?;
        let outcome = step.play();
        step.rows.draft.close(outcome)
    }
}

impl Recipe for Rlvr {
    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<Parameters>()
    }

    fn datasets(&self, config: &RunConfig) -> Result<Vec<DatasetUse>, PlanError> {
        Ok(Parameters::of(config)?
            .dataset
            .usage("/parameters/dataset")
            .into_iter()
            .collect())
    }

    fn rows_asked(&self, config: &RunConfig) -> Result<Option<RowsAsked>, PlanError> {
        Parameters::of(config)?.asked("/parameters").map(Some)
    }

    fn compares_answers(&self, config: &RunConfig) -> Result<bool, PlanError> {
        Ok(Parameters::of(config)?.advantages.estimator.compares_samples())
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Solver]
    }

    fn metrics(&self) -> Vec<Metric> {
        all_metrics()
    }

    fn recorded_metrics(&self, config: &RunConfig) -> Result<Vec<&'static str>, PlanError> {
        let held_out = Parameters::of(config)?.held_out;
        Ok(metrics(held_out).iter().map(|metric| metric.name).collect())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            repeats: true,
            ..Capabilities::default()
        }
    }
}
