//! GASP (arXiv 2603.15957): asymmetric self-play that is guided by goalposts, hard problems that the model fails to solve.
//!
//! An iteration has three phases, each with one update (Algorithm 1). The teacher makes lemmas, easier variants of
//! goalposts, until enough of them are solved about half of the time; from these it makes lifts, harder variants that are
//! solved rarely, without seeing the goalposts; then the student learns from lemmas and lifts as induction, deduction or
//! abduction. RLVR on real data may follow. No code of the paper is public; `docs/DEVIATIONS.md` lists what it leaves open.

mod candidate;
mod learnability;
mod lemma;
mod metrics;
mod parameters;
mod round;
mod solve;
mod step;
mod templates;
#[cfg(test)]
mod tests;

pub use self::{
    learnability::{LemmaReward, LiftReward},
    parameters::{FlawRewards, LearnFrom, NoveltyConfig, Parameters, Rounds, SolveStage},
    step::Axis,
};

use self::step::{Memory, RealData, Step};
use crate::{
    config::{RunConfig, schema_of},
    contract::{Capabilities, Metric, Plan, PlanError, Planner, Recipe, Role, RowsAsked, RunState, Stages, StepView},
    dataset::{DatasetUse, Purpose},
    fault::Faults,
    id::ExecutionId,
    kit::{Names, founders},
    verify::ProblemKind,
};

/// The roles of the recipe.
const ROLES: [Role; 2] = [Role::Teacher, Role::Student];

/// The kinds of problems that can be goalposts.
const GOALPOSTS: [ProblemKind; 2] = [ProblemKind::CodeF, ProblemKind::Code];

/// The recipe.
#[derive(Clone, Copy, Debug)]
pub struct Gasp;

impl Planner for Gasp {
    fn name(&self) -> &'static str {
        "gasp"
    }

    fn summary(&self) -> &'static str {
        "A teacher makes stepping stones towards hard problems for a student (GASP)."
    }

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        parameters::resolve(config)
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
        if let Some(mut step) = RealData::new(run, view, &parameters)? {
            let outcome = step.play();
            return step.close(outcome);
        }
        let mut step = Step::new(run, view, &parameters)?;
        let outcome = step.play();
        step.draft.close(outcome)
    }
}

impl Recipe for Gasp {
    fn parameters_schema(&self) -> serde_json::Value {
        schema_of::<Parameters>()
    }

    fn datasets(&self, config: &RunConfig) -> Result<Vec<DatasetUse>, PlanError> {
        let parameters = Parameters::of(config)?;
        let goalposts = parameters.goalposts.usage("/parameters/goalposts");
        let goalposts = goalposts.map(|rows| DatasetUse {
            purpose: Purpose::Goalposts,
            kinds: &GOALPOSTS,
            ..rows
        });
        let real_data = parameters.real_data.as_ref();
        let real_data = real_data.and_then(|real| real.dataset.usage("/parameters/real_data/dataset"));
        Ok(goalposts.into_iter().chain(real_data).collect())
    }

    fn rows_asked(&self, config: &RunConfig) -> Result<Option<RowsAsked>, PlanError> {
        let real_data = Parameters::of(config)?.real_data;
        real_data.map(|real| real.asked("/parameters/real_data")).transpose()
    }

    fn stages(&self, config: &RunConfig) -> Result<Option<Stages>, PlanError> {
        Ok(Some(Parameters::of(config)?.stages()))
    }

    /// Rewards are whitened by stage and by format.
    fn compares_answers(&self, _: &RunConfig) -> Result<bool, PlanError> {
        Ok(false)
    }

    fn roles(&self) -> Vec<Role> {
        ROLES.to_vec()
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(true)
    }

    fn recorded_metrics(&self, config: &RunConfig) -> Result<Vec<&'static str>, PlanError> {
        let recorded = metrics::metrics(Parameters::of(config)?.real_data.is_some());
        Ok(recorded.iter().map(|metric| metric.name).collect())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            stages: true,
            has_goalposts: true,
            ..Capabilities::default()
        }
    }
}
