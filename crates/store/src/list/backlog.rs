//! What the queue holds, by kind of work, and what workers got done of late.

use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

/// Work of one kind that is not over, or that failed.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Backlog {
    /// The kind.
    pub kind: String,
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

/// What a worker did in the last ten minutes.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Throughput {
    /// The worker.
    pub worker_id: Uuid,
    /// Items that it ended, 1000 at most.
    pub items: i64,
    /// Time that it spent on them, in seconds, summed over its slots.
    pub seconds: f64,
}

/// What each of `workers` did in the last ten minutes.
pub async fn throughput(db: &PgPool, workers: &[Uuid]) -> Result<Vec<Throughput>> {
    Ok(sqlx::query_as(
        "SELECT asked.id AS worker_id, count(*) AS items,
             coalesce(sum(extract(epoch FROM last.finished_at - last.started_at)), 0)::double precision AS seconds
         FROM unnest($1::uuid[]) AS asked (id) JOIN LATERAL (
             SELECT started_at, finished_at FROM work WHERE worker_id = asked.id ORDER BY seq DESC LIMIT 1000
         ) last ON last.finished_at > now() - interval '10 minutes' GROUP BY asked.id",
    )
    .bind(workers)
    .fetch_all(db)
    .await?)
}
