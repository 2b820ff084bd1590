//! `rollout`: generates completions by members of a population, and embeddings of texts.

use std::sync::Arc;
use std::time::Instant;

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::work::{
    Completion, Diversity, Embedded, EmbeddingBatch, Generated, Prompt, RolloutPayload, RolloutResult, RolloutUsage,
    Sampling, WorkKind,
};
use lyceum_engine::generate::{GenerationEvent, GenerationOptions, GenerationRequest, GenerationResult, Generator};
use lyceum_engine::token_batch::{RequestTokens, SampleTokens, TokenBatch};
use lyceum_store::artifact::Vectors;

use super::compared::differences;
use super::diversity;
use super::embedding::{compare, counted};
use super::epiplexity::epiplexity;
use crate::engine::{Engine, Job, Loaded, Models, Version, fault};
use crate::handler::{Context, Handler, HandlerError};

/// Tokens per pass when embedding texts.
const EMBEDDING_TOKENS: usize = 4096;

/// Generates on the engine's thread.
pub struct RolloutHandler {
    engine: Engine,
}

impl RolloutHandler {
    /// Generates with `engine`.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }
}

impl Handler for RolloutHandler {
    const KIND: WorkKind = WorkKind::Rollout;
    type Payload = RolloutPayload;
    type Outcome = RolloutResult;

    async fn run(self: Arc<Self>, payload: RolloutPayload, context: Context) -> Result<RolloutResult, HandlerError> {
        let mut adapters = Vec::with_capacity(payload.adapters.len());
        for adapter in &payload.adapters {
            adapters.push(Version::read(&context, *adapter, false).await?);
        }
        let mut earlier = Vec::new();
        for (digest, rows) in payload.embedding.iter().flat_map(|batch| &batch.against) {
            let vectors = Vectors::from_bytes(&context.get(*digest).await?).map_err(HandlerError::Permanent)?;
            earlier.push((vectors, rows.clone()));
        }
        let compare = match payload.compare {
            Some(digest) => Some(TokenBatch::from_bytes(&context.get(digest).await?).map_err(fault)?),
            None => None,
        };
        let done = self
            .engine
            .run(&context, move |models, job| {
                rolled_out(models, job, &payload, &adapters, &earlier)
            })
            .await?;
        let mut result = done.result;
        if let (Some(earlier), Some(bytes)) = (compare, &done.tokens) {
            let again = TokenBatch::from_bytes(bytes).map_err(fault)?;
            result.compared = Some(differences(&earlier, &again).map_err(HandlerError::Permanent)?);
        }
        if let Some(bytes) = done.tokens {
            result.tokens = Some(context.put(ArtifactKind::Tokens, bytes).await?);
        }
        if let Some(measured) = done.embedded {
            result.embedded = Some(Embedded {
                vectors: context.put(ArtifactKind::Embeddings, measured.vectors).await?,
                nearest: measured.nearest,
                nearest_places: measured.nearest_places,
                means: measured.means,
                among: measured.among,
                diversity: measured.diversity,
            });
        }
        Ok(result)
    }

    fn loaded_models(&self) -> Vec<String> {
        self.engine.loaded_models()
    }
}

/// The result of an item before its artifacts are stored.
pub(super) struct RolledOut {
    pub(super) result: RolloutResult,
    /// Negative log-probability of all tokens under the distributions that they were drawn from, in nats.
    pub(super) surprisal: f64,
    tokens: Option<Vec<u8>>,
    embedded: Option<Measured>,
}

/// Embeddings before they are stored, and what was measured of them.
struct Measured {
    vectors: Vec<u8>,
    nearest: Vec<Option<f32>>,
    nearest_places: Vec<Option<u32>>,
    means: Vec<Vec<Option<f32>>>,
    among: Vec<Vec<f32>>,
    diversity: Option<Diversity>,
}

pub(super) fn rolled_out(
    models: &mut Models,
    job: &Job,
    payload: &RolloutPayload,
    adapters: &[Version],
    earlier: &[(Vectors, Vec<u32>)],
) -> Result<RolledOut, HandlerError> {
    let start = Instant::now();
    job.progress(0.0, "loading");
    let loaded = models.load(&payload.base_model, payload.compute)?;
    loaded.with_adapters(adapters)?;
    let requests = requests(loaded, payload)?;
    let sampled = requests.iter().filter(|request| request.n > 0);
    let prompts = sampled.map(|request| request.prompt.len() as u64).sum();
    let generator = Generator {
        model: &loaded.model,
        population: loaded.population(),
        tokenizer: loaded.tokenizer.as_ref(),
    };
    let generated = generator.generate(&requests, &GenerationOptions::default(), &mut |event| {
        if let GenerationEvent::Progress {
            finished, completions, ..
        } = event
        {
            job.progress(finished as f32 / completions.max(1) as f32, "generating");
        }
    });
    let generated = generated.map_err(fault)?;
    let embedded = match &payload.embedding {
        Some(batch) => {
            job.progress(1.0, "embedding");
            Some(embed(loaded, job, batch, earlier)?)
        }
        None => None,
    };
    let is_masked = payload.sampling.vocabulary_mask.is_some();
    let tokens = payload
        .keep_tokens
        .then(|| batch(&requests, &generated.results, is_masked).to_bytes());
    let completions = || generated.results.iter().flat_map(|result| &result.completions);
    let logprobs = completions().flat_map(|completion| &completion.sampling_logprobs);
    Ok(RolledOut {
        surprisal: -logprobs.map(|logprob| f64::from(*logprob)).sum::<f64>(),
        tokens: tokens.transpose().map_err(fault)?,
        embedded,
        result: RolloutResult {
            usage: RolloutUsage {
                prompt_tokens: prompts,
                completion_tokens: completions().map(|completion| completion.ids.len() as u64).sum(),
                seconds: start.elapsed().as_secs_f64(),
                halvings: generated.halved.len() as u32,
            },
            generated: generated
                .results
                .into_iter()
                .map(|result| answered(result, is_masked))
                .collect(),
            embedded: None,
            compared: None,
            tokens: None,
        },
    })
}

fn embed(
    loaded: &Loaded,
    job: &Job,
    batch: &EmbeddingBatch,
    earlier: &[(Vectors, Vec<u32>)],
) -> Result<Measured, HandlerError> {
    let EmbeddingBatch { texts, diversity, .. } = batch;
    let ids = texts.iter().map(|text| loaded.encode(text));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let rows = loaded.model.embed_texts(&ids, EMBEDDING_TOKENS).map_err(fault)?;
    let vectors = Vectors::new(rows, loaded.model.config.hidden_size as usize);
    let bytes = vectors.to_bytes().map_err(HandlerError::Permanent)?;
    let Some(request) = diversity else {
        let found = compare(&vectors, earlier, batch.centred).map_err(HandlerError::Permanent)?;
        return Ok(Measured {
            vectors: bytes,
            nearest: found.nearest,
            nearest_places: found.nearest_places,
            means: found.means,
            among: found.among,
            diversity: None,
        });
    };
    let others = counted(&vectors, earlier).map_err(HandlerError::Permanent)?;
    let oldest = earlier.first().map_or(0, |(_, rows)| rows.len());
    let embedded = diversity::Embedded {
        texts,
        ids: &ids,
        vectors: &vectors,
    };
    let (mut measured, nearest) = embedded.diversity(request, &others, oldest)?;
    if let Some(observer) = &request.observer {
        measured.epiplexity = epiplexity(loaded, job, &ids, (observer, request.seed))?;
    }
    Ok(Measured {
        vectors: bytes,
        nearest,
        nearest_places: Vec::new(),
        means: Vec::new(),
        among: Vec::new(),
        diversity: Some(measured),
    })
}

/// The payload's requests with prompts as token ids.
fn requests(loaded: &Loaded, payload: &RolloutPayload) -> Result<Vec<GenerationRequest>, HandlerError> {
    let limit = payload.sampling.max_tokens;
    let requests = payload.requests.iter().map(|request| {
        let prompt = match &request.prompt {
            Prompt::Ids(ids) => ids.iter().map(|id| i64::from(*id)).collect(),
            Prompt::Text(text) => loaded.encode(text)?,
            Prompt::Messages(messages) => loaded.encode(&loaded.render(messages)?)?,
        };
        Ok(GenerationRequest {
            id: request.id.clone(),
            prompt,
            adapter: request.adapter.map(|adapter| adapter as usize),
            n: request.n as usize,
            sampling: Sampling {
                max_tokens: request.max_tokens.map_or(limit, |own| own.min(limit)),
                ..payload.sampling.clone()
            },
            seed: request.seed,
        })
    });
    requests.collect()
}

fn answered(result: GenerationResult, is_masked: bool) -> Generated {
    let completions = result.completions.into_iter().map(|completion| Completion {
        mask_mismatch: is_masked.then(|| mismatch(&completion)),
        tokens: completion.ids.len() as u32,
        text: completion.text.unwrap_or_default(),
        finish_reason: completion.finish_reason,
        entropy: Some(completion.entropy),
    });
    Generated {
        id: result.id,
        completions: completions.collect(),
    }
}

/// Mean difference of the log-probabilities under the sampling distribution and under the model, in nats.
fn mismatch(completion: &lyceum_engine::generate::Completion) -> f32 {
    let pairs = completion.sampling_logprobs.iter().zip(&completion.logprobs);
    let sum: f64 = pairs.map(|(drawn, own)| f64::from(*drawn) - f64::from(*own)).sum();
    (sum / completion.ids.len().max(1) as f64) as f32
}

fn batch(requests: &[GenerationRequest], results: &[GenerationResult], is_masked: bool) -> TokenBatch {
    let of = requests.iter().zip(results).map(|(request, result)| RequestTokens {
        id: request.id.clone(),
        prompt: request.prompt.clone(),
        samples: result
            .completions
            .iter()
            .map(|completion| SampleTokens {
                ids: completion.ids.clone(),
                logprobs: completion.logprobs.clone(),
                sampling_logprobs: match is_masked {
                    true => completion.sampling_logprobs.clone(),
                    false => Vec::new(),
                },
            })
            .collect(),
    });
    TokenBatch { requests: of.collect() }
}
