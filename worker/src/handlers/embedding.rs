//! Texts as vectors: embeds them on the engine, and how similar they are.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use lyceum_core::artifact::ArtifactKind;
use lyceum_core::work::{Diversity, Embedded, EmbeddingBatch, RolloutPayload};
use lyceum_store::artifact::Vectors;

use super::diversity;
use super::diversity::epiplexity;
use crate::engine::{Engine, Job, Loaded, fault};
use crate::handler::{Context, HandlerError};

/// Cosine similarities of embedded texts, as in [`lyceum_core::work::Embedded`].
#[derive(Debug, PartialEq)]
pub(super) struct Similarities {
    pub(super) nearest: Vec<Option<f32>>,
    pub(super) nearest_places: Vec<Option<u32>>,
    pub(super) means: Vec<Vec<Option<f32>>>,
    pub(super) among: Vec<Vec<f32>>,
}

/// Compares each row with the counted rows of `earlier` and with the rows before it.
pub(super) fn compare(
    vectors: &Vectors,
    earlier: &[(Vectors, Vec<u32>)],
    is_centred: bool,
) -> Result<Similarities, String> {
    let others = counted(vectors, earlier)?;
    let first = earlier.first().map_or(vectors, |(table, _)| table);
    let mean = (is_centred && !first.rows().is_empty()).then(|| mean(first));
    let mean = mean.as_deref();
    let rows: Vec<Cow<'_, [f32]>> = vectors.rows().iter().map(|row| centred(row, mean)).collect();
    let others: Vec<Cow<'_, [f32]>> = others.into_iter().map(|row| centred(row, mean)).collect();
    let mut found = Similarities {
        nearest: Vec::with_capacity(rows.len()),
        nearest_places: Vec::with_capacity(rows.len()),
        means: Vec::with_capacity(rows.len()),
        among: Vec::with_capacity(rows.len()),
    };
    for (at, row) in rows.iter().enumerate() {
        let similarities: Vec<f32> = others.iter().map(|other| product(row, other)).collect();
        // Of equally similar rows the first.
        let nearest = (0_u32..).zip(&similarities).max_by(|(a, one), (b, other)| one.total_cmp(other).then(b.cmp(a)));
        found.nearest.push(nearest.map(|(_, similarity)| *similarity));
        found.nearest_places.push(nearest.map(|(place, _)| place));
        let mut rest = similarities.as_slice();
        let of_tables = earlier.iter().map(|(_, counted)| {
            let (own, others) = rest.split_at(counted.len());
            rest = others;
            let sum: f64 = own.iter().map(|similarity| f64::from(*similarity)).sum();
            (!own.is_empty()).then(|| (sum / own.len() as f64) as f32)
        });
        found.means.push(of_tables.collect());
        found.among.push(rows[..at].iter().map(|before| product(row, before)).collect());
    }
    Ok(found)
}

fn product(one: &[f32], other: &[f32]) -> f32 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// The mean of a table's rows.
fn mean(table: &Vectors) -> Vec<f64> {
    let mut sums = vec![0.0; table.width()];
    for row in table.rows() {
        sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
    }
    let count = table.rows().len() as f64;
    sums.into_iter().map(|sum| sum / count).collect()
}

/// A row minus `mean`, if there is one, scaled to length 1 again; a row that equals the mean is zero.
fn centred<'r>(row: &'r [f32], mean: Option<&[f64]>) -> Cow<'r, [f32]> {
    let Some(mean) = mean else { return Cow::Borrowed(row) };
    let moved: Vec<f64> = row.iter().zip(mean).map(|(value, mean)| f64::from(*value) - mean).collect();
    let length = moved.iter().map(|value| value * value).sum::<f64>().sqrt().max(1e-12);
    Cow::Owned(moved.into_iter().map(|value| (value / length) as f32).collect())
}

/// The counted rows of `earlier`, in order.
pub(super) fn counted<'e>(vectors: &Vectors, earlier: &'e [(Vectors, Vec<u32>)]) -> Result<Vec<&'e Vec<f32>>, String> {
    let mut others = Vec::new();
    for (at, (table, rows)) in earlier.iter().enumerate() {
        if table.width() != vectors.width() {
            return Err(format!(
                "the embeddings {at} to compare with have dimension {}; this model's have {}",
                table.width(),
                vectors.width()
            ));
        }
        for row in rows {
            let count = table.rows().len();
            let row = table.rows().get(*row as usize);
            others.push(row.ok_or_else(|| format!("the embeddings {at} to compare with have {count} rows"))?);
        }
    }
    Ok(others)
}

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
    let Some(batch) = &payload.embedding else { return Ok(None) };
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
            let Some(batch) = &payload.embedding else { unreachable!("it was there above") };
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
    let ids = texts.iter().map(|text| loaded.texts.encode(text)).collect::<Result<Vec<_>, _>>().map_err(fault)?;
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
    let embedded = diversity::Embedded { texts, ids: &ids, vectors: &vectors };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[[f32; 2]]) -> Vectors {
        let table = Vectors::new(rows.iter().map(|row| row.to_vec()).collect(), 2);
        Vectors::from_bytes(&table.to_bytes().unwrap()).unwrap()
    }

    #[test]
    fn rows_that_count_are_compared_and_those_before_each() {
        let earlier = || table(&[[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]);
        let rows = table(&[[0.6, 0.8], [0.0, -1.0]]);
        let found = compare(&rows, &[(earlier(), vec![]), (earlier(), vec![0, 2])], false).unwrap();
        assert_eq!(found.nearest, [Some(0.6), Some(0.0)]);
        assert_eq!(found.nearest_places, [Some(0), Some(0)], "of equal ones the first");
        assert_eq!(found.means, [[None, Some(0.0)], [None, Some(0.0)]]);
        assert_eq!(found.among, [vec![], vec![-0.8]]);
        let alone = compare(&table(&[[1.0, 0.0]]), &[], false).unwrap();
        assert_eq!((alone.nearest, alone.nearest_places), (vec![None], vec![None]));
        assert!(compare(&table(&[]), &[(earlier(), vec![3])], false).unwrap_err().contains("3 rows"));
        assert!(Vectors::from_bytes(b"other").is_err());
    }

    #[test]
    fn rows_are_centred_by_the_first_table_whether_its_rows_count_or_not() {
        let reference = table(&[[1.0, 0.0], [0.0, 1.0]]);
        let found = compare(&table(&[[1.0, 0.0], [0.0, 1.0]]), &[(reference, vec![])], true).unwrap();
        assert_eq!(found.nearest, [None, None]);
        assert!((found.among[1][0] + 1.0).abs() < 1e-6, "{:?}", found.among);
        let of_itself = compare(&table(&[[1.0, 0.0], [0.0, 1.0]]), &[], true).unwrap();
        assert_eq!(of_itself.among, found.among);
        let same = compare(&table(&[[1.0, 0.0], [1.0, 0.0]]), &[], true).unwrap();
        assert_eq!(same.among[1], [0.0], "rows that equal the mean are zero");
        assert!(compare(&table(&[]), &[], true).unwrap().among.is_empty());
    }
}
