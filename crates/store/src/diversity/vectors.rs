//! The artifact with the embeddings of a step's questions.

use lyceum_core::{
    artifact::Digest,
    diversity::PHASE,
    id::{ExecutionId, WorkId},
    work::WorkKey,
};
use sqlx::{FromRow, PgPool};

use crate::Result;

/// An artifact of embeddings that is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredVectors {
    /// The artifact.
    pub digest: Digest,
    /// Its size.
    pub bytes: u64,
}

#[derive(FromRow)]
struct Row {
    digest: String,
    bytes: i64,
}

/// The embeddings of the questions measured in `step`; `None` if none were measured or the artifact was removed.
pub async fn vectors(db: &PgPool, run: ExecutionId, step: u32) -> Result<Option<StoredVectors>> {
    let item = WorkId::of(run, &WorkKey::new(step, PHASE));
    let row: Option<Row> = sqlx::query_as(
        "SELECT a.digest, a.bytes FROM work w
         JOIN artifacts a ON a.digest = w.result -> 'rollout' -> 'embedded' ->> 'vectors'
         WHERE w.id = $1 AND w.state = 'done' AND a.removed_at IS NULL",
    )
    .bind(item.0)
    .fetch_optional(db)
    .await?;
    Ok(row.and_then(|row| {
        Some(StoredVectors {
            digest: row.digest.parse().ok()?,
            bytes: row.bytes.max(0).cast_unsigned(),
        })
    }))
}
