//! Stop conditions.

use lyceum_core::work::{FinishReason, Sampling};

use super::request::GenerationRequest;
use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::tokenizer::Tokenizer;

/// The stop conditions of one request, resolved.
#[derive(Debug)]
pub(super) struct Stop {
    ids: Vec<i64>,
    strings: Vec<String>,
    /// Number of trailing tokens that can hold the longest stop string.
    window: usize,
    max_tokens: usize,
}

impl Stop {
    pub(super) fn new(request: &GenerationRequest, model: &Model, tokenizer: Option<&Tokenizer>) -> Result<Self> {
        let Sampling {
            max_tokens,
            stop,
            stop_token_ids,
            ignore_eos,
            ..
        } = &request.sampling;
        let mut ids: Vec<i64> = stop_token_ids.iter().map(|&id| i64::from(id)).collect();
        if !ignore_eos {
            ids.extend(&model.config.eos_token_ids);
        }
        if !stop.is_empty() && tokenizer.is_none() {
            return Err(EngineError::request(
                &request.id,
                "stop strings need the model's tokenizer.json",
            ));
        }
        let longest = stop.iter().map(String::len).max().unwrap_or(0);
        // A token that yields text has at least one byte; a few more tokens allow for special tokens in between.
        Ok(Self {
            ids,
            strings: stop.clone(),
            window: longest + 8,
            max_tokens: *max_tokens as usize,
        })
    }

    /// The reason to end the completion after its newest id, if any.
    pub(super) fn reason(&self, ids: &[i64], tokenizer: Option<&Tokenizer>) -> Result<Option<FinishReason>> {
        if ids.last().is_some_and(|last| self.ids.contains(last)) {
            return Ok(Some(FinishReason::Stop));
        }
        if let (Some(tokenizer), false) = (tokenizer, self.strings.is_empty()) {
            let tail = tokenizer.decode(&ids[ids.len().saturating_sub(self.window)..])?;
            if self.strings.iter().any(|stop| tail.contains(stop.as_str())) {
                return Ok(Some(FinishReason::Stop));
            }
        }
        Ok((ids.len() >= self.max_tokens).then_some(FinishReason::Length))
    }

    /// The completion's text, cut before the first stop string.
    pub(super) fn text(&self, ids: &[i64], tokenizer: &Tokenizer) -> Result<String> {
        Ok(tokenizer.decode_until(ids, &self.strings)?)
    }
}
