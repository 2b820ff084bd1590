//! SAGE (arXiv 2603.15255): a challenger, a planner, a solver and a critic learn together from a small set of tasks that
//! grows.
//!
//! A step has two phases. The challenger poses tasks like those of the set; the critic scores them; tasks whose score is
//! high enough and whose verifier is valid join the set. Then the planner plans solutions of tasks of the set, the
//! critic scores the plans, and the solver sees those that are good enough. All roles learn in one update. No code of
//! the paper is public; `docs/DEVIATIONS.md` lists what it leaves open.

mod admit;
mod ask;
mod challenge;
mod critique;
mod metrics;
mod parameters;
mod rewards;
mod solve;
mod step;
mod task;
#[cfg(test)]
mod tests;
mod verifier;

pub use self::{
    parameters::{CodeTasks, Parameters, RoleSampling},
    rewards::{AdmittedWeights, CorrectnessWeights, QualityWeights, RewardWeights, SolverWeights},
};

use self::{step::Step, task::Memory};
use crate::{
    config::{RunConfig, schema_of},
    contract::{Capabilities, Gates, Metric, Plan, PlanError, Planner, Recipe, Role, RunState, StepView},
    dataset::DatasetUse,
    fault::Faults,
    id::ExecutionId,
    kit::{Names, founders},
    verify::ProblemKind,
};

/// The roles of the recipe.
const ROLES: [Role; 4] = [Role::Challenger, Role::Planner, Role::Solver, Role::Critic];

/// The recipe.
#[derive(Clone, Copy, Debug)]
pub struct Sage;

impl Planner for Sage {
    fn name(&self) -> &'static str {
        "sage"
    }

    fn summary(&self) -> &'static str {
        "A challenger, a planner, a solver and a critic learn together from a growing set of tasks (SAGE)."
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        parameters::resolve(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        RunState::first(run, config, &Memory::new(founders(config, &mut Names::default())))
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = Parameters::of(&run.config)?;
        let mut step = Step::new(run, view, &parameters)?;
        let outcome = step.play();
        step.draft.close(outcome)
    }
}

impl Recipe for Sage {
    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<Parameters>()
    }

    fn datasets(&self, config: &RunConfig) -> Result<Vec<DatasetUse>, PlanError> {
        let parameters = Parameters::of(config)?;
        let seeds = parameters.dataset.usage("/parameters/dataset");
        let of_domains = seeds.map(|seeds| DatasetUse {
            kinds: match parameters.code {
                Some(_) => &[ProblemKind::Math, ProblemKind::Code],
                None => &[ProblemKind::Math],
            },
            ..seeds
        });
        Ok(of_domains.into_iter().collect())
    }

    /// Rewards are whitened by role.
    fn compares_answers(&self, _: &RunConfig) -> Result<bool, PlanError> {
        Ok(false)
    }

    fn roles(&self) -> Vec<Role> {
        ROLES.to_vec()
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            admits: true,
            ..Capabilities::default()
        }
    }

    fn gates(&self, config: &RunConfig) -> Result<Option<Gates>, PlanError> {
        Ok(Some(Parameters::of(config)?.gates()))
    }
}
