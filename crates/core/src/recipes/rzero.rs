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

pub use self::{
    parameters::{Curriculum, DiversityConfig, Labels, Parameters, ProposerStage, SolverStage, VoteConfig},
    poll::{Repetition, UncertaintyConfig},
};

use self::step::{Memory, Step};
use crate::{
    config::{PopulationConfig, RunConfig, schema_of},
    contract::{Capabilities, Metric, Plan, PlanError, Planner, Recipe, Role, RunState, Stages, StepView},
    fault::Faults,
    id::ExecutionId,
    kit::{Names, founders},
    vocabulary_dropout::VocabularyDropout,
};

/// The recipe.
#[derive(Clone, Copy, Debug)]
pub struct RZero;

impl Planner for RZero {
    fn name(&self) -> &'static str {
        "rzero"
    }

    fn summary(&self) -> &'static str {
        "Proposers and solvers of mathematics learn in turn, without data (R-Zero with vocabulary dropout)."
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolve::resolve(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let memory = Memory {
            members: founders(config, &mut Names::default()),
            ..Memory::default()
        };
        let stage = Parameters::of(config)?.stages().name_at(0);
        Ok(RunState::first(run, config, &memory)?.in_stage(stage))
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = Parameters::of(&run.config)?;
        let mut step = Step::new(run, view, &parameters)?;
        let outcome = step.play();
        step.draft.close(outcome)
    }
}

impl Recipe for RZero {
    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<Parameters>()
    }

    fn stages(&self, config: &RunConfig) -> Result<Option<Stages>, PlanError> {
        Ok(Some(Parameters::of(config)?.stages()))
    }

    fn vocabulary_dropout(
        &self,
        config: &RunConfig,
    ) -> Result<Option<(&'static str, VocabularyDropout, String)>, PlanError> {
        let proposes = |population: &&PopulationConfig| {
            let mut groups = population.members.iter();
            groups.any(|group| group.count > 0 && group.roles.contains(&Role::Proposer))
        };
        let base = config.populations.values().find(proposes);
        let base = base.map(|population| population.base_model.name.clone());
        let dropout = Parameters::of(config)?.vocabulary_dropout;
        Ok(dropout
            .zip(base)
            .map(|(dropout, base)| ("/parameters/vocabulary_dropout", dropout, base)))
    }

    fn compares_answers(&self, config: &RunConfig) -> Result<bool, PlanError> {
        Ok(Parameters::of(config)?.advantages.estimator.compares_samples())
    }

    fn roles(&self) -> Vec<Role> {
        vec![Role::Proposer, Role::Solver]
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(true)
    }

    fn recorded_metrics(&self, config: &RunConfig) -> Result<Vec<&'static str>, PlanError> {
        let recorded = metrics::metrics(Parameters::of(config)?.diversity.epiplexity.is_some());
        Ok(recorded.iter().map(|metric| metric.name).collect())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stages: true,
            measures_diversity: true,
            ..Capabilities::default()
        }
    }
}
