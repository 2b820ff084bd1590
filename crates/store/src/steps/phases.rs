//! The phases of a step.

use lyceum_core::{id::ExecutionId, work::WorkKind};
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Result;

/// One phase of a step.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct PhaseProgress {
    /// Its name.
    pub phase: String,
    pub kind: WorkKind,
    /// Items planned so far.
    pub total: i64,
    /// Items waiting for a worker.
    pub ready: i64,
    /// Items held by a worker.
    pub running: i64,
    /// Items with a result.
    pub done: i64,
    /// Items without tries left.
    pub failed: i64,
    /// Retries, over all items.
    pub retries: i64,
    /// Time workers spent on ended items, in seconds.
    pub seconds: f64,
}

/// The phases of a step, in the order they started.
pub async fn phases(db: &PgPool, execution: ExecutionId, step: i32) -> Result<Vec<PhaseProgress>> {
    Ok(sqlx::query_as(
        "SELECT phase, kind, count(*) AS total, count(*) FILTER (WHERE state = 'ready') AS ready,
             count(*) FILTER (WHERE state = 'running') AS running, count(*) FILTER (WHERE state = 'done') AS done,
             count(*) FILTER (WHERE state = 'failed') AS failed,
             coalesce(sum(greatest(attempts - 1, 0)), 0)::bigint AS retries,
             coalesce(sum(extract(epoch FROM finished_at - started_at)), 0)::double precision AS seconds
         FROM work WHERE execution_id = $1 AND step = $2 GROUP BY phase, kind ORDER BY min(seq)",
    )
    .bind(execution.0)
    .bind(step)
    .fetch_all(db)
    .await?)
}
