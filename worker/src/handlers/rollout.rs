//! `rollout`: generates completions by members of a population, and embeddings of texts.

use std::sync::Arc;

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::work::{RolloutPayload, RolloutResult, Sampler, WorkKind};
use lyceum_models::token_batch::TokenBatch;

use super::compared::differences;
#[cfg(feature = "engine")]
use super::embedded::embedded;
use crate::handler::{Context, Handler, HandlerError};
use crate::sampler::Samplers;

/// Generates with the sampler that an item names, and embeds on the engine.
pub struct RolloutHandler {
    samplers: Samplers,
}

impl RolloutHandler {
    /// Generates with `samplers`.
    pub fn new(samplers: impl Into<Samplers>) -> Self {
        Self {
            samplers: samplers.into(),
        }
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
        let mut result = RolloutResult {
            usage: sampled.usage(),
            ..RolloutResult::default()
        };
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
