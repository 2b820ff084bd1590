//! Recent throughput of workers.

use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

/// A worker's throughput over the last ten minutes.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Throughput {
    pub worker_id: Uuid,
    /// Items it ended, at most 1000.
    pub items: i64,
    /// Time it spent on them, in seconds, summed over its slots.
    pub seconds: f64,
}

/// The throughput of each of `workers` over the last ten minutes.
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
