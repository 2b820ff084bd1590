//! The questions that were measured.

use lyceum_core::{diversity::PHASE, id::ExecutionId};
use serde_json::Value;
use sqlx::{PgPool, types::Json};
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
        let question = values.get("question").and_then(Value::as_str);
        let question = question.unwrap_or_default().to_owned();
        Question {
            id,
            step,
            index,
            question,
        }
    };
    Ok(stored.into_iter().map(question).collect())
}
