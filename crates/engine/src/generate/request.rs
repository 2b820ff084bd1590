//! Requests to generation and their results.

use lyceum_core::work::{FinishReason, Sampling};
use serde::Serialize;

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
    /// Completions to sample; with 0 the request is only checked.
    pub n: usize,
    /// How tokens are sampled and what ends a completion. All requests of a batch must have the same vocabulary mask.
    ///
    /// Temperature, top-k and top-p apply in this order. Temperatures below 1e-5 are raised to it, except 0, which takes
    /// the most probable token. top-k and top-p also keep ties with the last token they keep. The completion's text ends
    /// before the first stop string, its ids with the token that completed the string or with the stop id.
    pub sampling: Sampling,
    /// Sampling depends only on this seed, the sample's index among the `n`, and the position.
    pub seed: u64,
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
    /// The result without a completion.
    pub(super) fn unsampled(&self) -> GenerationResult {
        GenerationResult {
            id: self.id.clone(),
            completions: Vec::new(),
        }
    }

    /// Tokens of the prompt and of the longest possible completion.
    pub(super) fn most_tokens(&self) -> usize {
        self.prompt.len() + self.sampling.max_tokens as usize
    }

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
        let Sampling {
            temperature,
            top_p,
            max_tokens,
            stop,
            ..
        } = &self.sampling;
        if *max_tokens == 0 {
            return refuse("`max_tokens` is 0; it must be positive".into());
        }
        let total = self.most_tokens();
        if total as i64 > longest {
            return refuse(format!(
                "{} prompt tokens and `max_tokens` {max_tokens} add up to {total}; the model's longest sequence is {longest}",
                self.prompt.len()
            ));
        }
        if let Some(adapter) = self.adapter.filter(|&adapter| adapter >= members) {
            return refuse(format!("adapter {adapter} does not exist; there are {members}"));
        }
        if !(*temperature >= 0.0 && temperature.is_finite()) {
            return refuse(format!(
                "`temperature` is {temperature}; it must be 0 (greedy) or a positive number"
            ));
        }
        if !(*top_p > 0.0 && *top_p <= 1.0) {
            return refuse(format!("`top_p` is {top_p}; it must be above 0 and at most 1"));
        }
        if stop.iter().any(String::is_empty) {
            return refuse("a stop string is empty".into());
        }
        Ok(())
    }
}
