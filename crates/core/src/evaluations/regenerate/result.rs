//! The result of a regeneration: both samples and their difference.

use serde::{Deserialize, Serialize};

use crate::{
    csv::Csv,
    evaluations::RegenerateParameters,
    id::{AttemptId, ExecutionId, ProblemId, WorkId},
    work::{Completion, FinishReason, RolloutResult},
};

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
    pub(super) fn new(
        parameters: &RegenerateParameters,
        recorded: &RolloutResult,
        again: &RolloutResult,
    ) -> Result<Self, String> {
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
