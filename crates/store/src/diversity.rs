//! Questions whose diversity was measured, and their embeddings.

use lyceum_core::artifact::Digest;
use lyceum_core::diversity::PHASE;
use lyceum_core::id::{ExecutionId, WorkId};
use lyceum_core::work::WorkKey;
use serde_json::Value;
use sqlx::types::Json;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The problem.
    pub id: Uuid,
    /// The step in which it was proposed.
    pub step: i32,
    /// Its index within the step.
    pub index: i32,
    /// Its text.
    pub question: String,
}

/// The steps in which diversity was measured, in order; the last `limit` of them.
pub async fn measured(db: &PgPool, run: ExecutionId, limit: u32) -> Result<Vec<u32>> {
    let steps: Vec<i32> = sqlx::query_scalar(
        "SELECT step FROM work WHERE execution_id = $1 AND phase = $2 AND state = 'done' ORDER BY step DESC LIMIT $3",
    )
    .bind(run.0)
    .bind(PHASE)
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?;
    Ok(steps.into_iter().rev().map(i32::cast_unsigned).collect())
}

/// The first `limit` questions measured in `step`, in the order of their embeddings: the valid problems of the last step
/// up to it that proposed any.
pub async fn questions(db: &PgPool, run: ExecutionId, step: u32, limit: u32) -> Result<Vec<Question>> {
    // Values are read here and not by Postgres, which refuses to look into those with a NUL.
    let stored: Vec<(Uuid, i32, i32, Json<Value>)> = sqlx::query_as(
        "SELECT id, step, index, \"values\" FROM problems
         WHERE run_id = $1 AND valid
             AND step = (SELECT max(step) FROM problems WHERE run_id = $1 AND step <= $2)
         ORDER BY index LIMIT $3",
    )
    .bind(run.0)
    .bind(step.cast_signed())
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?;
    let question = |(id, step, index, Json(values)): (Uuid, i32, i32, Json<Value>)| {
        let question = values.get("question").and_then(Value::as_str).unwrap_or_default().to_owned();
        Question { id, step, index, question }
    };
    Ok(stored.into_iter().map(question).collect())
}

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
        Some(StoredVectors { digest: row.digest.parse().ok()?, bytes: row.bytes.max(0).cast_unsigned() })
    }))
}
