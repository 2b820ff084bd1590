//! Evaluations of type `regenerate`: a recorded sample is generated again and compared with what was recorded.
//!
//! The whole work item is run again, with the payload as it was: versions, prompts, sampling and seeds. A sample drawn
//! alone could differ in its last bits, since the arithmetic depends on the batch.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::read;
use crate::artifact::Digest;
use crate::config::RunConfig;
use crate::contract::{self, Plan, PlanError, RunState, StepView};
use crate::csv::Csv;
use crate::fault::{Fault, Faults};
use crate::id::{AttemptId, ExecutionId, ProblemId, WorkId};
use crate::kit::{Draft, Progress};
use crate::work::{Completion, FinishReason, RolloutPayload, RolloutResult};

/// The planner of evaluations of type `regenerate`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegenerateEvaluation;

impl contract::TypedPlanner for RegenerateEvaluation {
    type Parameters = RegenerateParameters;
    type Memory = ();

    const NAME: &'static str = "evaluation/regenerate";
    const SUMMARY: &'static str = "Can a recorded sample be reproduced?";

    fn resolve(&self, mut config: RunConfig) -> Result<RunConfig, Faults> {
        RegenerateParameters::read(&config)?;
        config.steps = 1;
        Ok(config)
    }

    fn first_memory(&self, _: &RunConfig, _: &RegenerateParameters) {}

    fn held(&self, parameters: &RegenerateParameters) -> Result<Vec<Digest>, PlanError> {
        let payload = parameters.payload()?;
        let adapters = payload.adapters.iter().map(|adapter| adapter.artifact);
        Ok(adapters.chain(payload.compare).collect())
    }

    fn size(&self, _: &RegenerateParameters) -> Option<(u64, u64)> {
        Some((1, 1))
    }

    fn plan(
        &self,
        run: &RunState,
        view: &StepView,
        parameters: &RegenerateParameters,
        (): (),
    ) -> Result<Plan, PlanError> {
        let mut draft = Draft::new(run, view, Vec::new());
        let outcome = regenerate(&mut draft, parameters);
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

/// Generates a recorded sample again, an attempt or a proposal, and compares the two. The whole work item is run again,
/// since the last bits of a sample depend on the batch it is drawn in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegenerateSpec {
    /// The attempt; either this or `problem`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// The proposed problem; either this or `attempt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ProblemId>,
}

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
    fn read(config: &RunConfig) -> Result<Self, Faults> {
        let fault = |pointer: &str, detail: String| Fault::new(format!("/parameters{pointer}"), detail);
        let parameters: Self = read(config)?;
        let mut faults = Vec::new();
        if let Err(error) = parameters.payload() {
            faults.push(fault("/payload", error.to_string()));
        }
        if let Err(error) = parameters.recorded() {
            faults.push(fault("/recorded", error.to_string()));
        }
        Faults(faults).or(parameters)
    }

    /// The work to do again.
    fn payload(&self) -> Result<RolloutPayload, PlanError> {
        Ok(serde_json::from_str(&self.payload)?)
    }

    fn recorded(&self) -> Result<RolloutResult, PlanError> {
        Ok(serde_json::from_str(&self.recorded)?)
    }
}

/// A recorded sample and the same drawn again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegenerateResult {
    /// The run of the sample.
    pub run: ExecutionId,
    /// The step it was drawn in.
    pub step: u32,
    /// The attempt, if it is one.
    pub attempt: Option<AttemptId>,
    /// The problem that was attempted, or proposed.
    pub problem: ProblemId,
    /// The item that drew it.
    pub item: WorkId,
    pub recorded: RegeneratedSample,
    /// The sample drawn again.
    pub again: RegeneratedSample,
    /// Whether text, length, end and entropy are all the same, to the last bit.
    pub equal: bool,
    /// Where the two differ first; `None` if their texts are the same.
    pub first_difference: Option<FirstDifference>,
    /// The largest difference between log-probabilities of tokens, in nats, up to the first token that differs. `None`
    /// if the recorded ones were not kept, since nobody learned from them, or have been deleted after their step.
    pub logprob_difference: Option<f32>,
    /// Samples of the whole item.
    pub samples: u32,
    /// Samples of the whole item that are equal.
    pub equal_samples: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegeneratedSample {
    /// Its text, with `␀` for NUL.
    pub text: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Its length in tokens.
    pub tokens: u32,
    /// Mean entropy of the model over its tokens, in nats.
    pub entropy: Option<f32>,
}

/// The place where two samples differ first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstDifference {
    /// The index of the first character that differs.
    pub character: u32,
    /// The index of the first token that differs; `None` if the recorded ones are not kept.
    pub token: Option<u32>,
}

impl RegenerateResult {
    /// Compares two results of the same item.
    ///
    /// # Errors
    /// They have other requests or samples.
    fn new(parameters: &RegenerateParameters, recorded: &RolloutResult, again: &RolloutResult) -> Result<Self, String> {
        let (mut samples, mut equal_samples) = (0, 0);
        if recorded.generated.len() != again.generated.len() {
            return Err("its requests are not those that were recorded".to_owned());
        }
        for (recorded, again) in recorded.generated.iter().zip(&again.generated) {
            if (&recorded.id, recorded.completions.len()) != (&again.id, again.completions.len()) {
                return Err(format!("request {} has other samples than were recorded", recorded.id));
            }
            samples += recorded.completions.len() as u32;
            let pairs = recorded.completions.iter().zip(&again.completions);
            equal_samples += pairs.filter(|(recorded, again)| recorded == again).count() as u32;
        }
        let place = recorded.generated.iter().position(|one| one.id == parameters.request);
        let place = place.ok_or_else(|| format!("there is no request {}", parameters.request))?;
        let sample = parameters.sample as usize;
        let one = |result: &RolloutResult| result.generated[place].completions.get(sample).cloned();
        let (Some(before), Some(now)) = (one(recorded), one(again)) else {
            return Err(format!("request {} has no sample {sample}", parameters.request));
        };
        let compared = again.compared.as_ref();
        let tokens = compared.and_then(|compared| compared.get(place)?.get(sample).copied());
        let first_difference = (before.text != now.text).then(|| FirstDifference {
            character: differs_at(&before.text, &now.text),
            token: tokens.and_then(|tokens| tokens.first_token),
        });
        Ok(Self {
            run: parameters.run,
            step: parameters.step,
            attempt: parameters.attempt,
            problem: parameters.problem,
            item: parameters.item,
            equal: before == now && tokens.is_none_or(|tokens| tokens.first_token.is_none() && tokens.logprob == 0.0),
            first_difference,
            logprob_difference: tokens.map(|tokens| tokens.logprob),
            samples,
            equal_samples,
            recorded: before.into(),
            again: now.into(),
        })
    }

    /// Both samples as CSV, a line each.
    pub fn to_csv(&self) -> String {
        let mut csv = Csv::new(&["sample", "tokens", "finish_reason", "entropy", "equal", "text"]);
        for (name, sample) in [("recorded", &self.recorded), ("again", &self.again)] {
            csv.row(&[
                name.to_owned(),
                sample.tokens.to_string(),
                sample.finish_reason.name().to_owned(),
                sample.entropy.map(|entropy| entropy.to_string()).unwrap_or_default(),
                self.equal.to_string(),
                sample.text.clone(),
            ]);
        }
        csv.into_text()
    }
}

impl From<Completion> for RegeneratedSample {
    fn from(completion: Completion) -> Self {
        Self {
            // JSON in Postgres cannot hold NUL.
            text: completion.text.replace('\0', "\u{2400}"),
            finish_reason: completion.finish_reason,
            tokens: completion.tokens,
            entropy: completion.entropy,
        }
    }
}

/// The number of characters that two texts have in common from their start.
fn differs_at(one: &str, other: &str) -> u32 {
    let pairs = one.chars().zip(other.chars());
    pairs.take_while(|(one, other)| one == other).count() as u32
}
