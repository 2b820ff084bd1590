//! R-Zero (arXiv 2508.05004) with vocabulary dropout (arXiv 2604.03472): proposers and solvers learn in turn.
//!
//! An iteration has four stages. Proposers learn to ask what frozen solvers answer differently; they generate a
//! curriculum, of which the questions that solvers are unsure of are kept; solvers learn from these; the curriculum's
//! diversity is measured. A random part of the vocabulary may be hidden from each batch of proposals.

mod metrics;
mod parameters;
mod poll;
mod proposer;
mod resolve;
mod solver;
mod step;
#[cfg(test)]
mod tests;

pub use self::parameters::{Curriculum, DiversityConfig, Labels, Parameters, ProposerStage, SolverStage, VoteConfig};
pub use self::poll::{Repetition, UncertaintyConfig};

use self::step::{Memory, Step};
use crate::config::{PopulationConfig, RunConfig};
use crate::contract::{self, Capabilities, Metric, Plan, PlanError, Role, RunState, Stages, StepView};
use crate::fault::Faults;
use crate::kit::{LearningConfig, Names, founders, resolved};
use crate::prompt::Templates;
use crate::vocabulary_dropout::VocabularyDropout;

#[derive(Clone, Copy, Debug)]
pub struct RZero;

impl contract::TypedPlanner for RZero {
    type Parameters = Parameters;
    type Memory = Memory;

    const NAME: &'static str = "rzero";
    const SUMMARY: &'static str =
        "Proposers and solvers of mathematics learn in turn, without data (R-Zero with vocabulary dropout).";

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolved(config, resolve::check)
    }

    fn first_memory(&self, config: &RunConfig, _: &Parameters) -> Memory {
        Memory { members: founders(config, &mut Names::default()), ..Memory::default() }
    }

    fn first_stage(&self, parameters: &Parameters) -> String {
        parameters.stages().name_at(0).to_owned()
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

impl contract::TypedRecipe for RZero {
    fn stages(&self, parameters: &Parameters) -> Option<Stages> {
        Some(parameters.stages())
    }

    fn vocabulary_dropout(
        &self,
        config: &RunConfig,
        parameters: &Parameters,
    ) -> Option<(&'static str, VocabularyDropout, String)> {
        let proposes = |population: &&PopulationConfig| {
            let mut groups = population.members.iter();
            groups.any(|group| group.count > 0 && group.roles.contains(&Role::Proposer))
        };
        let base = config.populations.values().find(proposes).map(|population| population.base_model.name.clone());
        let dropout = parameters.vocabulary_dropout.clone().zip(base);
        dropout.map(|(dropout, base)| ("/parameters/vocabulary_dropout", dropout, base))
    }

    fn compares_answers(&self, parameters: &Parameters) -> bool {
        parameters.advantages.estimator.compares_samples()
    }

    /// Each side learns in its own stages, some of the run's steps.
    fn templates(&self) -> Templates {
        Templates { all: proposer::TEMPLATES.to_vec(), reads: proposer::reads }
    }

    fn conversations(&self, parameters: &Parameters) -> Option<&'static str> {
        parameters.prompts.has_conversations().then_some("/parameters/prompts")
    }

    fn sums_of_rates(&self, config: &RunConfig, parameters: &Parameters) -> Vec<(&'static str, f64)> {
        let Parameters { iterations, proposer, solver, .. } = parameters;
        let own = |learning: &LearningConfig, steps: u32| {
            let share = f64::from(iterations * steps) / f64::from(config.steps.max(1));
            learning.sum_of_rates(config.steps) * share
        };
        vec![
            ("/parameters/proposer/learning/optimizer/learning_rate", own(&proposer.learning, proposer.steps)),
            ("/parameters/solver/learning/optimizer/learning_rate", own(&solver.learning, solver.steps)),
        ]
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Proposer, Role::Solver]
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(true)
    }

    fn recorded_metrics(&self, parameters: &Parameters) -> Vec<Metric> {
        metrics::metrics(parameters.diversity.epiplexity.is_some())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { stages: true, measures_diversity: true, ..Capabilities::default() }
    }
}
