//! The engine as a sampler.

use std::sync::Arc;
use std::time::Instant;

use lyceum_core::work::{RolloutPayload, Sampler, Sampling};
use lyceum_engine::generate::{GenerationEvent, GenerationOptions, GenerationRequest, GenerationResult, Generator};
use lyceum_models::Texts;

use super::{Asked, Sampled, SampledCompletion, SampledRequest};
use crate::adapter::Version;
use crate::engine::{Engine, Job, Models, fault};
use crate::handler::{Context, HandlerError};

/// Completes the requests of `payload` on the engine's thread.
pub(super) async fn sample(
    engine: &Engine,
    payload: Arc<RolloutPayload>,
    context: &Context,
) -> Result<Sampled, HandlerError> {
    if payload.requests.is_empty() {
        return Ok(Sampled::default());
    }
    let mut adapters = Vec::with_capacity(payload.adapters.len());
    for adapter in &payload.adapters {
        adapters.push(Version::read(context, *adapter, false).await?);
    }
    engine.run(context, move |models, job| sampled(models, job, &payload, &adapters)).await
}

fn sampled(
    models: &mut Models,
    job: &Job,
    payload: &RolloutPayload,
    adapters: &[Version],
) -> Result<Sampled, HandlerError> {
    let start = Instant::now();
    job.progress(0.0, "loading");
    let loaded = models.load(&payload.base_model, payload.compute)?;
    loaded.with_adapters(adapters)?;
    let longest = loaded.model.config.max_position_embeddings;
    let requests = requests(&loaded.texts, payload, longest)?;
    let generator =
        Generator { model: &loaded.model, population: loaded.population(), tokenizer: loaded.texts.tokenizer() };
    let options = GenerationOptions::fitting(&loaded.model, loaded.population(), &requests, None);
    let generated = generator.generate(&requests, &options, &mut |event| {
        if let GenerationEvent::Progress { finished, completions, .. } = event {
            job.progress(finished as f32 / completions.max(1) as f32, "generating");
        }
    });
    let generated = generated.map_err(fault)?;
    Ok(Sampled {
        requests: requests
            .into_iter()
            .zip(generated.results)
            .map(|(request, result)| answered(request, result))
            .collect(),
        sampler: Sampler::Engine,
        halvings: generated.halved.len() as u32,
        seconds: start.elapsed().as_secs_f64(),
        chat_template_sha256: loaded.texts.chat_template_sha256().map(str::to_owned),
    })
}

/// The payload's requests with prompts as token ids, for a model whose longest sequence has `longest`.
fn requests(texts: &Texts, payload: &RolloutPayload, longest: i64) -> Result<Vec<GenerationRequest>, HandlerError> {
    let requests = payload.requests.iter().map(|request| {
        let Asked { prompt, n, max_tokens } = Asked::of(payload, request, texts.ids(&request.prompt)?, longest);
        Ok(GenerationRequest {
            id: request.id.clone(),
            prompt,
            adapter: request.adapter.map(|adapter| adapter as usize),
            n,
            sampling: Sampling { max_tokens, ..payload.sampling.clone() },
            seed: request.seed,
        })
    });
    requests.collect()
}

fn answered(request: GenerationRequest, result: GenerationResult) -> SampledRequest {
    let completions = result.completions.into_iter().map(|completion| SampledCompletion {
        ids: completion.ids,
        text: completion.text.unwrap_or_default(),
        finish_reason: completion.finish_reason,
        logprobs: completion.logprobs,
        sampling_logprobs: Some(completion.sampling_logprobs),
        entropy: Some(completion.entropy),
    });
    SampledRequest { id: result.id, prompt: request.prompt, completions: completions.collect() }
}
