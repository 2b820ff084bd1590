//! Embeds texts on the engine and compares them.

use std::sync::Arc;
use std::time::Instant;

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::work::{Diversity, Embedded, EmbeddingBatch, RolloutPayload};
use lyceum_store::artifact::Vectors;

use super::diversity;
use super::embedding::{compare, counted};
use super::epiplexity::epiplexity;
use crate::engine::{Engine, Job, Loaded, fault};
use crate::handler::{Context, HandlerError};

/// Tokens per pass when embedding texts.
const EMBEDDING_TOKENS: usize = 4096;

/// Embeddings before they are stored, and what was measured of them.
struct Measured {
    vectors: Vec<u8>,
    nearest: Vec<Option<f32>>,
    nearest_places: Vec<Option<u32>>,
    means: Vec<Vec<Option<f32>>>,
    among: Vec<Vec<f32>>,
    diversity: Option<Diversity>,
}

/// The embeddings of the payload's texts, and the time that they took in seconds; `None` if it has none.
pub(super) async fn embedded(
    engine: &Engine,
    payload: &Arc<RolloutPayload>,
    context: &Context,
) -> Result<Option<(Embedded, f64)>, HandlerError> {
    let Some(batch) = &payload.embedding else {
        return Ok(None);
    };
    let mut earlier = Vec::new();
    for (digest, rows) in &batch.against {
        let vectors = Vectors::from_bytes(&context.get(*digest).await?).map_err(HandlerError::Permanent)?;
        earlier.push((vectors, rows.clone()));
    }
    let payload = Arc::clone(payload);
    let (measured, seconds) = engine
        .run(context, move |models, job| {
            let start = Instant::now();
            let loaded = models.load(&payload.base_model, payload.compute)?;
            let Some(batch) = &payload.embedding else {
                unreachable!("it was there above")
            };
            job.progress(1.0, "embedding");
            let measured = embed(loaded, job, batch, &earlier)?;
            Ok((measured, start.elapsed().as_secs_f64()))
        })
        .await?;
    let embedded = Embedded {
        vectors: context.put(ArtifactKind::Embeddings, measured.vectors).await?,
        nearest: measured.nearest,
        nearest_places: measured.nearest_places,
        means: measured.means,
        among: measured.among,
        diversity: measured.diversity,
    };
    Ok(Some((embedded, seconds)))
}

fn embed(
    loaded: &Loaded,
    job: &Job,
    batch: &EmbeddingBatch,
    earlier: &[(Vectors, Vec<u32>)],
) -> Result<Measured, HandlerError> {
    let EmbeddingBatch { texts, diversity, .. } = batch;
    let ids = texts.iter().map(|text| loaded.texts.encode(text));
    let ids = ids.collect::<Result<Vec<_>, _>>().map_err(fault)?;
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
