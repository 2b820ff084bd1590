//! `rollout`: generates completions by members of a population, and embeddings of texts.

use std::sync::Arc;

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::work::{RolloutPayload, RolloutResult, Sampler, TokenDifference, WorkKind};
use lyceum_models::token_batch::{SampleTokens, TokenBatch};

#[cfg(feature = "engine")]
use super::embedding::embedded;
use crate::handler::{Context, Handler, HandlerError};
use crate::sampler::Samplers;

/// Generates with the sampler that an item names, and embeds on the engine.
pub struct RolloutHandler {
    samplers: Samplers,
}

impl RolloutHandler {
    /// Generates with `samplers`.
    pub fn new(samplers: impl Into<Samplers>) -> Self {
        Self { samplers: samplers.into() }
    }
}

impl Handler for RolloutHandler {
    const KIND: WorkKind = WorkKind::Rollout;
    type Payload = RolloutPayload;
    type Outcome = RolloutResult;

    async fn run(self: Arc<Self>, payload: RolloutPayload, context: Context) -> Result<RolloutResult, HandlerError> {
        let payload = Arc::new(payload);
        let compare = match payload.compare {
            Some(digest) => Some(TokenBatch::from_bytes(&context.get(digest).await?)?),
            None => None,
        };
        let is_masked = payload.sampling.vocabulary_mask.is_some();
        let sampled = self.samplers.sample(Arc::clone(&payload), &context).await?;
        let mut result = RolloutResult { usage: sampled.usage(), ..RolloutResult::default() };
        if payload.keep_tokens {
            let tokens = sampled.tokens(is_masked);
            if let Some(earlier) = &compare {
                result.compared = Some(differences(earlier, &tokens).map_err(HandlerError::Permanent)?);
            }
            result.tokens = Some(context.put(ArtifactKind::Tokens, tokens.to_bytes()?).await?);
        }
        result.generated = sampled.into_generated(is_masked);
        #[cfg(feature = "engine")]
        if let Some(engine) = &self.samplers.engine
            && let Some((vectors, seconds)) = embedded(engine, &payload, &context).await?
        {
            result.usage.seconds += seconds;
            result.embedded = Some(vectors);
        }
        if payload.embedding.is_some() && result.embedded.is_none() {
            let lacking = "this worker does not have the engine, which embeds texts";
            return Err(HandlerError::permanent(lacking));
        }
        Ok(result)
    }

    fn serves(&self, sampler: Sampler) -> bool {
        self.samplers.has(sampler)
    }

    fn loaded_models(&self) -> Vec<String> {
        self.samplers.loaded_models()
    }

    fn served_models(&self) -> Vec<String> {
        self.samplers.served_models()
    }
}

/// For each request and sample of `again`, its difference from `earlier`.
///
/// # Errors
/// The batches have other requests or other numbers of samples.
pub(super) fn differences(earlier: &TokenBatch, again: &TokenBatch) -> Result<Vec<Vec<TokenDifference>>, String> {
    let lengths = |batch: &TokenBatch| -> Vec<(String, usize)> {
        let requests = batch.requests.iter();
        requests.map(|request| (request.id.clone(), request.samples.len())).collect()
    };
    if lengths(earlier) != lengths(again) {
        return Err("the rollout to compare with has other requests".to_owned());
    }
    let pairs = earlier.requests.iter().zip(&again.requests);
    let of_request = pairs.map(|(earlier, again)| {
        let samples = earlier.samples.iter().zip(&again.samples);
        samples.map(|(earlier, again)| difference(earlier, again)).collect()
    });
    Ok(of_request.collect())
}

fn difference(earlier: &SampleTokens, again: &SampleTokens) -> TokenDifference {
    let pairs = earlier.ids.iter().zip(&again.ids);
    let common = pairs.take_while(|(one, other)| one == other).count();
    let scores = earlier.logprobs.iter().zip(&again.logprobs).take(common);
    TokenDifference {
        first_token: (common < earlier.ids.len().max(again.ids.len())).then_some(common as u32),
        logprob: scores.map(|(one, other)| (one - other).abs()).fold(0.0, f32::max),
    }
}

#[cfg(test)]
mod tests {
    use lyceum_models::token_batch::RequestTokens;

    use super::*;

    fn batch(samples: &[&[i64]], shift: f32) -> TokenBatch {
        let sample = |ids: &&[i64]| SampleTokens {
            ids: ids.to_vec(),
            logprobs: ids.iter().map(|id| shift - *id as f32).collect(),
            sampling_logprobs: Vec::new(),
        };
        TokenBatch {
            requests: vec![RequestTokens {
                id: "0".to_owned(),
                prompt: vec![1],
                samples: samples.iter().map(sample).collect(),
            }],
        }
    }

    #[test]
    fn the_first_token_that_differs_is_found_and_later_ones_do_not_count() {
        let earlier = batch(&[&[1, 2, 3], &[1, 2], &[4]], 0.0);
        let again = batch(&[&[1, 2, 3], &[1, 2, 5], &[6]], 0.25);
        let found = differences(&earlier, &again).unwrap();
        let told: Vec<_> = found[0].iter().map(|one| (one.first_token, one.logprob)).collect();
        assert_eq!(told, [(None, 0.25), (Some(2), 0.25), (Some(0), 0.0)]);
        assert!(differences(&earlier, &batch(&[&[1]], 0.0)).is_err());
    }
}
