//! Unfinished and failed work.

use lyceum_core::work::WorkKind;
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Result;

/// Unfinished and failed work of one kind.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Backlog {
    pub kind: WorkKind,
    /// Items waiting for a worker.
    pub ready: i64,
    /// Ready items whose next try is not due yet.
    pub delayed: i64,
    /// Items held by a worker.
    pub running: i64,
    /// Running items without progress for a minute.
    pub stalled: i64,
    /// Items without tries left.
    pub failed: i64,
}

/// The backlog of every kind, without empty ones.
pub async fn backlog(db: &PgPool) -> Result<Vec<Backlog>> {
    Ok(sqlx::query_as(
        "SELECT kind, count(*) FILTER (WHERE state = 'ready') AS ready,
             count(*) FILTER (WHERE state = 'ready' AND run_at > now()) AS delayed,
             count(*) FILTER (WHERE state = 'running') AS running,
             count(*) FILTER (WHERE state = 'running' AND progress_at < now() - interval '1 minute') AS stalled,
             count(*) FILTER (WHERE state = 'failed') AS failed
         FROM work WHERE state IN ('ready', 'running', 'failed') GROUP BY kind ORDER BY kind",
    )
    .fetch_all(db)
    .await?)
}
