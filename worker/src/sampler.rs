//! What generates tokens: this process's engine, or servers that others keep. Handlers of rollouts and benchmarks go through
//! [`Samplers`] and need not know which.

#[cfg(feature = "engine")]
mod engine;
mod served;

pub use served::{Served, ServedError, ServedSettings};

use std::sync::Arc;

use lyceum_core::work::{Completion, FinishReason, Generated, RolloutPayload, RolloutRequest, RolloutUsage, Sampler};
use lyceum_models::token_batch::{RequestTokens, SampleTokens, TokenBatch};

#[cfg(feature = "engine")]
use crate::engine::Engine;
use crate::handler::{Context, HandlerError};

/// The samplers of a worker.
#[derive(Clone, Default)]
pub struct Samplers {
    /// The engine of this process.
    #[cfg(feature = "engine")]
    pub engine: Option<Engine>,
    /// Servers.
    pub served: Option<Served>,
}

/// What a sampler does for a request.
struct Asked {
    prompt: Vec<i64>,
    n: usize,
    max_tokens: u32,
}

impl Asked {
    /// `request`, whose prompt has these ids, of a model whose longest sequence has `longest`.
    fn of(payload: &RolloutPayload, request: &RolloutRequest, mut prompt: Vec<i64>, longest: i64) -> Self {
        let max_tokens = payload.max_tokens(request);
        let fits = prompt.len() as i64 + i64::from(max_tokens) <= longest;
        if fits || !request.if_it_fits {
            return Self { prompt, n: request.n as usize, max_tokens };
        }
        // Without completions the rest need only be valid.
        prompt.truncate(1);
        Self { prompt, n: 0, max_tokens: 1 }
    }
}

impl Samplers {
    /// Whether it has this sampler.
    pub fn has(&self, sampler: Sampler) -> bool {
        match sampler {
            #[cfg(feature = "engine")]
            Sampler::Engine => self.engine.is_some(),
            #[cfg(not(feature = "engine"))]
            Sampler::Engine => false,
            Sampler::Served => self.served.is_some(),
        }
    }

    /// Completes the requests of `payload`.
    ///
    /// # Errors
    /// The requests are invalid, or the sampler fails.
    pub async fn sample(&self, payload: Arc<RolloutPayload>, context: &Context) -> Result<Sampled, HandlerError> {
        let sampler = payload.sampler();
        match sampler {
            #[cfg(feature = "engine")]
            Sampler::Engine => {
                if let Some(engine) = &self.engine {
                    return engine::sample(engine, payload, context).await;
                }
            }
            #[cfg(not(feature = "engine"))]
            Sampler::Engine => {}
            Sampler::Served => {
                if let Some(served) = &self.served {
                    return served.sample(&payload, context).await;
                }
            }
        }
        Err(HandlerError::Permanent(format!("this worker does not have the sampler `{sampler}` (`compute.sampler`)")))
    }

    /// The base models that are loaded.
    #[cfg(feature = "engine")]
    pub fn loaded_models(&self) -> Vec<String> {
        self.engine.as_ref().map(Engine::loaded_models).unwrap_or_default()
    }

    /// The base models that are loaded: none without an engine.
    #[cfg(not(feature = "engine"))]
    pub fn loaded_models(&self) -> Vec<String> {
        Vec::new()
    }

    /// The base models that servers have at the moment.
    pub fn served_models(&self) -> Vec<String> {
        self.served.as_ref().map(Served::models).unwrap_or_default()
    }
}

#[cfg(feature = "engine")]
impl From<Engine> for Samplers {
    fn from(engine: Engine) -> Self {
        Self { engine: Some(engine), served: None }
    }
}

/// The completions of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// One entry per request, in the order of the requests.
    pub requests: Vec<SampledRequest>,
    /// What generated them.
    pub sampler: Sampler,
    /// Number of times a batch was halved because memory ran out.
    pub halvings: u32,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
    /// SHA-256 of the model's chat template, in hex, if it has one.
    pub chat_template_sha256: Option<String>,
}

/// The completions of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct SampledRequest {
    /// The request's id.
    pub id: String,
    /// The prompt's token ids.
    pub prompt: Vec<i64>,
    /// The completions; none if the request was only checked.
    pub completions: Vec<SampledCompletion>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SampledCompletion {
    /// The generated ids, including the one that ended it.
    pub ids: Vec<i64>,
    /// Their text, cut before a stop text; empty without a tokenizer.
    pub text: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Log-probability of each id under the model itself, at temperature 1.
    pub logprobs: Vec<f32>,
    /// Log-probability of each id under the distribution that it was drawn from; `None` if that is not known.
    pub sampling_logprobs: Option<Vec<f32>>,
    /// Mean entropy of the model over the ids, in nats, if known.
    pub entropy: Option<f32>,
}

impl Sampled {
    /// Its cost.
    pub fn usage(&self) -> RolloutUsage {
        let answered = self.requests.iter().filter(|request| !request.completions.is_empty());
        RolloutUsage {
            prompt_tokens: answered.map(|request| request.prompt.len() as u64).sum(),
            completion_tokens: self.completions().map(|completion| completion.ids.len() as u64).sum(),
            seconds: self.seconds,
            halvings: self.halvings,
            sampler: self.sampler,
        }
    }

    /// Negative log-probability of all tokens under the distributions that they were drawn from, in nats; `None` if
    /// these are not known.
    pub fn surprisal(&self) -> Option<f64> {
        let mut sum = 0.0;
        for completion in self.completions() {
            let logprobs = completion.sampling_logprobs.as_ref()?;
            sum += logprobs.iter().map(|logprob| f64::from(*logprob)).sum::<f64>();
        }
        Some(-sum)
    }

    /// Token ids and log-probabilities, as an update reads them.
    pub fn tokens(&self, is_masked: bool) -> TokenBatch {
        let of = self.requests.iter().map(|request| RequestTokens {
            id: request.id.clone(),
            prompt: request.prompt.clone(),
            samples: request
                .completions
                .iter()
                .map(|completion| SampleTokens {
                    ids: completion.ids.clone(),
                    logprobs: completion.logprobs.clone(),
                    sampling_logprobs: completion.sampling_logprobs.clone().filter(|_| is_masked).unwrap_or_default(),
                })
                .collect(),
        });
        TokenBatch { requests: of.collect() }
    }

    /// The completions as a recipe reads them.
    pub fn into_generated(self, is_masked: bool) -> Vec<Generated> {
        let generated = self.requests.into_iter().map(|request| {
            let completions = request.completions.into_iter().map(|completion| Completion {
                mask_mismatch: completion.mismatch().filter(|_| is_masked),
                tokens: completion.ids.len() as u32,
                text: completion.text,
                finish_reason: completion.finish_reason,
                entropy: completion.entropy,
            });
            Generated { id: request.id, completions: completions.collect() }
        });
        generated.collect()
    }

    fn completions(&self) -> impl Iterator<Item = &SampledCompletion> {
        self.requests.iter().flat_map(|request| &request.completions)
    }
}

impl SampledCompletion {
    /// Mean difference of the log-probabilities under the sampling distribution and under the model, in nats.
    fn mismatch(&self) -> Option<f32> {
        let pairs = self.sampling_logprobs.as_ref()?.iter().zip(&self.logprobs);
        let sum: f64 = pairs.map(|(drawn, own)| f64::from(*drawn) - f64::from(*own)).sum();
        Some((sum / self.ids.len().max(1) as f64) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_need_not_fit_is_left_out() {
        let payload: RolloutPayload = serde_json::from_value(serde_json::json!({
            "base_model": {"name": "seedling"}, "adapters": [], "sampling": {"max_tokens": 10},
            "requests": [{"id": "a", "prompt": {"text": "x"}, "n": 3, "seed": 1, "if_it_fits": true}],
        }))
        .expect("a payload");
        let asked = |request: &RolloutRequest, tokens: usize| {
            let asked = Asked::of(&payload, request, vec![7; tokens], 32);
            (asked.prompt.len(), asked.n, asked.max_tokens)
        };
        let request = &payload.requests[0];
        assert_eq!(asked(request, 22), (22, 3, 10));
        assert_eq!(asked(request, 23), (1, 0, 1));
        let must = RolloutRequest { if_it_fits: false, ..request.clone() };
        assert_eq!(asked(&must, 23), (23, 3, 10), "the sampler refuses it");
    }
}
