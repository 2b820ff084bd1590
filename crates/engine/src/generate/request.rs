//! Requests to generation and their results.

use serde::{Deserialize, Serialize};

use crate::error::{EngineError, Result};
use crate::model::Model;

/// A prompt and how to continue it.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationRequest {
    /// Returned with the result.
    pub id: String,
    /// Token ids of the prompt; at least one.
    pub prompt: Vec<i64>,
    /// Index of the adapter in the population; `None` is the base without adapters.
    pub adapter: Option<usize>,
    /// Completions to sample.
    pub n: usize,
    /// Tokens after which a completion is cut off; at least one.
    pub max_tokens: usize,
    /// The sampling distribution.
    pub sampling: SamplingParams,
    /// Sampling depends only on this seed, the sample's index among the `n`, and the position.
    pub seed: u64,
    /// Conditions that end a completion.
    pub stop: StopConditions,
}

/// The distribution that tokens are drawn from. The fields apply in this order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SamplingParams {
    /// Divides the logits; values below 1e-5 are raised to it. 0 takes the most probable token.
    pub temperature: f64,
    /// Keeps the `top_k` most probable tokens and any ties with the last of them; 0 keeps all.
    pub top_k: usize,
    /// Keeps the smallest set of most probable tokens whose probability reaches this, and any ties with the last of
    /// them; 1 keeps all.
    pub top_p: f64,
}

impl Default for SamplingParams {
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
        }
    }
}

/// Conditions that end a completion before `max_tokens`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StopConditions {
    /// Stop strings. The completion's text ends before the first match, its ids with the token that completed the
    /// match.
    pub strings: Vec<String>,
    /// Stop ids besides the model's own end-of-sequence ids; the stop id is the completion's last.
    pub ids: Vec<i64>,
    /// Whether to continue past the model's end-of-sequence ids.
    pub ignore_eos: bool,
}

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// An end-of-sequence id, a stop id or a stop string.
    Stop,
    /// `max_tokens` were generated.
    Length,
}

/// One sampled continuation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Completion {
    /// The generated ids, including the one that ended the completion.
    pub ids: Vec<i64>,
    /// Their text without special tokens, cut before a stop string; `None` without a tokenizer.
    pub text: Option<String>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Log-probability of each id under the model itself: temperature 1, no mask, no truncation.
    pub logprobs: Vec<f32>,
    /// Log-probability of each id under the distribution it was drawn from (0 for greedy decoding).
    pub sampling_logprobs: Vec<f32>,
    /// Mean entropy of the model itself over the positions of `ids`, in nats.
    pub entropy: f32,
}

/// The completions of one request, in order of their sample index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GenerationResult {
    /// The request's id.
    pub id: String,
    /// Its `n` completions.
    pub completions: Vec<Completion>,
}

impl GenerationRequest {
    /// Refuses an invalid request.
    pub(super) fn check(&self, model: &Model, members: usize) -> Result<()> {
        let refuse = |reason: String| Err(EngineError::request(&self.id, reason));
        let (vocabulary, longest) = (model.config.vocab_size, model.config.max_position_embeddings);
        if self.prompt.is_empty() {
            return refuse("the prompt has no tokens; at least one is needed".into());
        }
        if let Some(id) = self.prompt.iter().find(|&&id| id < 0 || id >= vocabulary) {
            return refuse(format!("prompt id {id} is outside the vocabulary of {vocabulary}"));
        }
        if self.n == 0 || self.max_tokens == 0 {
            return refuse(format!(
                "`n` is {} and `max_tokens` {}; both must be positive",
                self.n, self.max_tokens
            ));
        }
        let total = self.prompt.len() + self.max_tokens;
        if total as i64 > longest {
            return refuse(format!(
                "{} prompt tokens and `max_tokens` {} add up to {total}; the model's longest sequence is {longest}",
                self.prompt.len(),
                self.max_tokens
            ));
        }
        if let Some(adapter) = self.adapter.filter(|&adapter| adapter >= members) {
            return refuse(format!("adapter {adapter} does not exist; there are {members}"));
        }
        let SamplingParams { temperature, top_p, .. } = self.sampling;
        if !(temperature >= 0.0 && temperature.is_finite()) {
            return refuse(format!(
                "`temperature` is {temperature}; it must be 0 (greedy) or a positive number"
            ));
        }
        if !(top_p > 0.0 && top_p <= 1.0) {
            return refuse(format!("`top_p` is {top_p}; it must be above 0 and at most 1"));
        }
        if self.stop.strings.iter().any(String::is_empty) {
            return refuse("a stop string is empty".into());
        }
        Ok(())
    }
}
