//! Rollouts that have ended, for finding the one a sample was drawn in.

use lyceum_core::{
    id::{ExecutionId, WorkId},
    work::{RolloutPayload, RolloutResult},
};
use sqlx::{FromRow, PgPool, types::Json};
use uuid::Uuid;

use crate::Result;

/// A rollout with its result.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// The item.
    pub id: WorkId,
    pub payload: RolloutPayload,
    pub result: RolloutResult,
}

#[derive(FromRow)]
struct Row {
    payload: Json<Tagged<RolloutPayload>>,
    result: Json<Tagged<RolloutResult>>,
}

/// The JSON of a payload or a result, by kind of work.
#[derive(serde::Deserialize)]
struct Tagged<T> {
    rollout: T,
}

/// The ids of the finished rollouts of a step of a run, then those of evaluations that recorded attempts of the run.
pub async fn of_step(db: &PgPool, run: ExecutionId, step: u32) -> Result<Vec<WorkId>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT w.id FROM work w WHERE w.kind = 'rollout' AND w.state = 'done' AND (
             (w.execution_id = $1 AND w.step = $2)
             OR w.execution_id IN (SELECT id FROM evaluations WHERE run_id = $1 AND spec ->> 'type' = 'cross_play'))
         ORDER BY w.execution_id <> $1, w.seq",
    )
    .bind(run.0)
    .bind(step.cast_signed())
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(WorkId).collect())
}

/// A finished rollout; `None` if there is no such.
pub async fn find(db: &PgPool, id: WorkId) -> Result<Option<Rollout>> {
    let row: Option<Row> =
        sqlx::query_as("SELECT payload, result FROM work WHERE id = $1 AND kind = 'rollout' AND state = 'done'")
            .bind(id.0)
            .fetch_optional(db)
            .await?;
    Ok(row.map(|row| Rollout {
        id,
        payload: row.payload.0.rollout,
        result: row.result.0.rollout,
    }))
}
