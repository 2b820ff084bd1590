//! Training sequences.

use crate::error::{EngineError, Result};
use crate::model::Model;

/// One sequence: the given tokens, the learned tokens and their advantage.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingSequence {
    /// Names the sequence in errors.
    pub id: String,
    /// Prompt ids, excluded from the loss; at least one. Neighbouring sequences with equal prompts share its
    /// computation.
    pub prompt: Vec<i64>,
    /// Completion ids, included in the loss; at least one.
    pub completion: Vec<i64>,
    /// The sampler's log-probability of each id of the completion. May be empty if the loss does not need them.
    pub logprobs: Vec<f32>,
    /// The advantage of each token of the completion; unused by the cross-entropy.
    pub advantage: f32,
}

impl TrainingSequence {
    /// Tokens that pass through the layers if nothing is shared: all but the last, which predicts nothing.
    pub(super) fn inputs(&self) -> usize {
        self.prompt.len() + self.completion.len() - 1
    }

    /// Refuses an invalid sequence; `needs_logprobs` if the loss needs the sampler's log-probabilities.
    pub(super) fn check(&self, model: &Model, member: usize, needs_logprobs: bool) -> Result<()> {
        let refuse = |reason: String| Err(EngineError::request(&self.id, format!("{reason} (member {member})")));
        let (vocabulary, longest) = (model.config.vocab_size, model.config.max_position_embeddings);
        if self.prompt.is_empty() || self.completion.is_empty() {
            return refuse(format!(
                "{} prompt ids and {} ids to learn; at least one of each is needed",
                self.prompt.len(),
                self.completion.len()
            ));
        }
        if self.inputs() as i64 > longest {
            return refuse(format!(
                "{} tokens; the model's longest sequence is {longest}",
                self.inputs() + 1
            ));
        }
        let mut ids = self.prompt.iter().chain(&self.completion);
        if let Some(id) = ids.find(|&&id| id < 0 || id >= vocabulary) {
            return refuse(format!("id {id} is outside the vocabulary of {vocabulary}"));
        }
        if self.logprobs.len() != self.completion.len() && (needs_logprobs || !self.logprobs.is_empty()) {
            return refuse(format!(
                "{} log-probabilities for {} ids; one per id is needed",
                self.logprobs.len(),
                self.completion.len()
            ));
        }
        if let Some(at) = self.logprobs.iter().position(|logprob| !logprob.is_finite()) {
            return refuse(format!(
                "log-probability {at} is {}; it must be finite",
                self.logprobs[at]
            ));
        }
        if !self.advantage.is_finite() {
            return refuse(format!("the advantage is {}; it must be finite", self.advantage));
        }
        Ok(())
    }
}
