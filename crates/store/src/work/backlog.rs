//! Work that is not over, or that failed.

use lyceum_core::work::WorkKind;
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Result;

/// Work of one kind that is not over, or that failed.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Backlog {
    /// The kind.
    pub kind: WorkKind,
    /// Items that wait for a worker.
    pub ready: i64,
    /// Those of them whose next try is still to come.
    pub delayed: i64,
    /// Items that a worker has.
    pub running: i64,
    /// Those of them to which nothing has happened for a minute.
    pub stalled: i64,
    /// Items whose tries are spent.
    pub failed: i64,
}

/// The backlog of every kind that has one.
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
