//! Parameters of a resolved regeneration: the item of the sample, with its result.

use serde::{Deserialize, Serialize};

use crate::{
    config::RunConfig,
    contract::PlanError,
    fault::{Fault, Faults},
    id::{AttemptId, ExecutionId, ProblemId, WorkId},
    work::{RolloutPayload, RolloutResult},
};

/// A sample and the item it was drawn in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegenerateParameters {
    /// The run of the sample.
    pub run: ExecutionId,
    /// The step it was drawn in.
    pub step: u32,
    /// The attempt, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// The problem that was attempted, or proposed.
    pub problem: ProblemId,
    /// The item that drew it.
    pub item: WorkId,
    /// The sample's request in the item.
    pub request: String,
    /// The index of the sample among those of the request.
    pub sample: u32,
    /// The item's payload as JSON text: configs are stored in a form that cannot hold every text of a model.
    pub payload: String,
    /// The item's result as JSON text.
    pub recorded: String,
}

impl RegenerateParameters {
    /// Reads and checks parameters.
    ///
    /// # Errors
    /// Every fault.
    pub(super) fn read(config: &RunConfig) -> Result<Self, Faults> {
        let fault = |pointer: &str, detail: String| Fault::new(format!("/parameters{pointer}"), detail);
        let parameters: Self = serde_json::from_value(config.parameters.clone())
            .map_err(|error| Faults(vec![fault("", error.to_string())]))?;
        let mut faults = Vec::new();
        if let Err(error) = parameters.payload() {
            faults.push(fault("/payload", error.to_string()));
        }
        if let Err(error) = parameters.recorded() {
            faults.push(fault("/recorded", error.to_string()));
        }
        Faults(faults).or(parameters)
    }

    /// The parameters of a resolved config.
    pub(super) fn of(config: &RunConfig) -> Result<Self, PlanError> {
        Ok(Self::deserialize(&config.parameters)?)
    }

    /// The work to do again.
    pub(super) fn payload(&self) -> Result<RolloutPayload, PlanError> {
        Ok(serde_json::from_str(&self.payload)?)
    }

    pub(super) fn recorded(&self) -> Result<RolloutResult, PlanError> {
        Ok(serde_json::from_str(&self.recorded)?)
    }
}
