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

pub use self::parameters::{CodeTasks, Parameters, RoleSampling};
pub use self::rewards::{AdmittedWeights, CorrectnessWeights, QualityWeights, RewardWeights, SolverWeights};

use self::step::Step;
use self::task::Memory;
use crate::config::RunConfig;
use crate::contract::{self, Capabilities, Gates, Metric, Plan, PlanError, Role, RunState, StepView};
use crate::dataset::DatasetUse;
use crate::fault::Faults;
use crate::kit::{Names, founders, resolved};
use crate::prompt::Templates;
use crate::verify::ProblemKind;

const ROLES: [Role; 4] = [Role::Challenger, Role::Planner, Role::Solver, Role::Critic];

#[derive(Clone, Copy, Debug)]
pub struct Sage;

impl contract::TypedPlanner for Sage {
    type Parameters = Parameters;
    type Memory = Memory;

    const NAME: &'static str = "sage";
    const SUMMARY: &'static str =
        "A challenger, a planner, a solver and a critic learn together from a growing set of tasks (SAGE).";

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolved(config, parameters::check)
    }

    fn first_memory(&self, config: &RunConfig, _: &Parameters) -> Memory {
        Memory::new(founders(config, &mut Names::default()))
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &Parameters,
        memory: Memory,
    ) -> Result<Plan, PlanError> {
        let mut step = Step::new(run, view, parameters, memory)?;
        let outcome = step.play();
        step.draft.close(outcome)
    }
}

impl contract::TypedRecipe for Sage {
    fn datasets(&self, parameters: &Parameters) -> Vec<DatasetUse> {
        let seeds = parameters.dataset.usage("/parameters/dataset");
        let of_domains = seeds.map(|seeds| DatasetUse {
            kinds: match parameters.code {
                Some(_) => &[ProblemKind::Math, ProblemKind::Code],
                None => &[ProblemKind::Math],
            },
            ..seeds
        });
        of_domains.into_iter().collect()
    }

    /// Rewards are whitened by role.
    fn compares_answers(&self, _: &Parameters) -> bool {
        false
    }

    fn templates(&self) -> Templates {
        Templates { all: ask::templates(), reads: ask::reads }
    }

    fn conversations(&self, parameters: &Parameters) -> Option<&'static str> {
        parameters.prompts.has_conversations().then_some("/parameters/prompts")
    }

    fn sums_of_rates(&self, config: &RunConfig, parameters: &Parameters) -> Vec<(&'static str, f64)> {
        vec![("/parameters/learning/optimizer/learning_rate", parameters.learning.sum_of_rates(config.steps))]
    }

    fn roles(&self) -> Vec<Role> {
        ROLES.to_vec()
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { admits: true, ..Capabilities::default() }
    }

    fn gates(&self, parameters: &Parameters) -> Option<Gates> {
        Some(parameters.gates())
    }
}
