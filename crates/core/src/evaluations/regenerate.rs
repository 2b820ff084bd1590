//! Evaluations of type `regenerate`: a recorded sample is generated again and compared with what was recorded.
//!
//! The whole work item is run again, with the payload as it was: versions, prompts, sampling and seeds. A sample drawn
//! alone could differ in its last bits, since the arithmetic depends on the batch.

mod parameters;
mod result;
mod spec;
#[cfg(test)]
mod tests;

pub use self::{
    parameters::RegenerateParameters,
    result::{FirstDifference, RegenerateResult, RegeneratedSample},
    spec::RegenerateSpec,
};

use crate::{
    config::RunConfig,
    contract::{Plan, PlanError, Planner, RunState, StepView},
    fault::Faults,
    id::ExecutionId,
    kit::{Draft, Progress},
};

/// The planner of evaluations of type `regenerate`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegenerateEvaluation;

impl Planner for RegenerateEvaluation {
    fn name(&self) -> &'static str {
        "evaluation/regenerate"
    }

    fn summary(&self) -> &'static str {
        "Generates a recorded sample again and compares the two."
    }

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        RegenerateParameters::read(&config)?;
        config.steps = 1;
        Ok(config)
    }

    fn begin(&self, run: ExecutionId, config: &RunConfig) -> Result<RunState, PlanError> {
        let parameters = RegenerateParameters::of(config)?;
        let payload = parameters.payload()?;
        let mut state = RunState::first(run, config, &())?.holding(payload.adapters.iter().copied());
        state.artifacts.extend(payload.compare);
        Ok(state)
    }

    fn plan(&self, run: &RunState, view: &StepView) -> Result<Plan, PlanError> {
        let parameters = RegenerateParameters::of(&run.config)?;
        let mut draft = Draft::new(run, view, Vec::new());
        let outcome = regenerate(&mut draft, &parameters);
        draft.close(outcome)
    }
}

fn regenerate(draft: &mut Draft<'_>, parameters: &RegenerateParameters) -> Progress<RunState> {
    let key = draft.key("regenerate", 0);
    let again = draft.rollout(&key, |_| parameters.payload())?;
    let recorded = parameters.recorded()?;
    let result = RegenerateResult::new(parameters, &recorded, again).map_err(|detail| Draft::misfit(&key, detail))?;
    draft.plan.result = Some(serde_json::to_value(result)?);
    Ok(draft.run.next("", &())?)
}
