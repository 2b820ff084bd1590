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

pub use self::learnability::{LemmaReward, LiftReward};
pub use self::parameters::{FlawRewards, LearnFrom, NoveltyConfig, Parameters, Rounds, SolveStage};
pub use self::step::Axis;

use self::parameters::REAL_DATA;
use self::step::{Memory, RealData, Step};
use crate::artifact::Digest;
use crate::config::{Ancestor, RunConfig};
use crate::contract::{self, Capabilities, Metric, Plan, PlanError, Role, RowsAsked, RunState, Stages, StepView};
use crate::dataset::{DatasetUse, Purpose};
use crate::fault::Faults;
use crate::kit::{Names, founders, resolved};
use crate::prompt::Templates;
use crate::verify::ProblemKind;

const ROLES: [Role; 2] = [Role::Teacher, Role::Student];

/// The kinds of problems that can be goalposts.
const GOALPOSTS: [ProblemKind; 2] = [ProblemKind::CodeF, ProblemKind::Code];

#[derive(Clone, Copy, Debug)]
pub struct Gasp;

impl contract::TypedPlanner for Gasp {
    type Parameters = Parameters;
    type Memory = Memory;

    const NAME: &'static str = "gasp";
    const SUMMARY: &'static str = "A teacher makes stepping stones towards hard problems for a student (GASP).";

    fn resolve(&self, config: RunConfig) -> Result<RunConfig, Faults> {
        resolved(config, parameters::check)
    }

    fn first_memory(&self, config: &RunConfig, _: &Parameters) -> Memory {
        Memory { members: founders(config, &mut Names::default()), ..Memory::default() }
    }

    fn first_stage(&self, parameters: &Parameters) -> String {
        parameters.stages().name_at(0).to_owned()
    }

    fn held(&self, parameters: &Parameters) -> Result<Vec<Digest>, PlanError> {
        let real_data = parameters.real_data.as_ref();
        Ok(real_data.map(|real| real.reward.held()).unwrap_or_default())
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &Parameters,
        memory: Memory,
    ) -> Result<Plan, PlanError> {
        let stage = parameters.stage(run)?;
        if let (REAL_DATA, Some(real)) = (stage.name, &parameters.real_data) {
            let mut step = RealData::new(run, view, (parameters, real), &stage, memory)?;
            let outcome = step.play();
            return step.close(outcome);
        }
        let mut step = Step::new(run, view, parameters, stage, memory)?;
        let outcome = step.play();
        step.draft.close(outcome)
    }
}

impl contract::TypedRecipe for Gasp {
    fn datasets(&self, parameters: &Parameters) -> Vec<DatasetUse> {
        let goalposts = parameters.goalposts.usage("/parameters/goalposts");
        let goalposts = goalposts.map(|rows| DatasetUse { purpose: Purpose::Goalposts, kinds: &GOALPOSTS, ..rows });
        let real_data = parameters.real_data.as_ref();
        let real_data = real_data.and_then(|real| real.usage("/parameters/real_data"));
        goalposts.into_iter().chain(real_data).collect()
    }

    fn rows_asked(&self, parameters: &Parameters) -> Result<Option<RowsAsked>, PlanError> {
        let real_data = parameters.real_data.as_ref();
        real_data.map(|real| real.asked("/parameters/real_data")).transpose()
    }

    fn judge(&self, parameters: &Parameters) -> Option<(&'static str, Ancestor)> {
        let judge = parameters.real_data.as_ref()?.reward.judge.as_ref()?;
        Some(("/parameters/real_data/reward/judge/from", judge.from.clone()?))
    }

    fn stages(&self, parameters: &Parameters) -> Option<Stages> {
        Some(parameters.stages())
    }

    /// Rewards are whitened by stage and by format.
    fn compares_answers(&self, _: &Parameters) -> bool {
        false
    }

    fn templates(&self) -> Templates {
        Templates { all: templates::templates(), reads: templates::reads }
    }

    fn conversations(&self, parameters: &Parameters) -> Option<&'static str> {
        parameters.prompts.has_conversations().then_some("/parameters/prompts")
    }

    fn sums_of_rates(&self, config: &RunConfig, parameters: &Parameters) -> Vec<(&'static str, f64)> {
        let own = ("/parameters/learning/optimizer/learning_rate", parameters.learning.sum_of_rates(config.steps));
        let real_data = parameters.real_data.as_ref().map(|real_data| {
            let pointer = "/parameters/real_data/learning/optimizer/learning_rate";
            (pointer, real_data.learning.sum_of_rates(config.steps))
        });
        std::iter::once(own).chain(real_data).collect()
    }

    fn roles(&self) -> Vec<Role> {
        ROLES.to_vec()
    }

    fn metrics(&self) -> Vec<Metric> {
        metrics::metrics(Some(metrics::RealData { selects_groups: true }))
    }

    fn recorded_metrics(&self, parameters: &Parameters) -> Vec<Metric> {
        metrics::metrics(parameters.real_data_measured())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { stages: true, has_goalposts: true, ..Capabilities::default() }
    }
}
