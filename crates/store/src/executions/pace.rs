//! How fast an execution advances, and whether it is stalled.

use chrono::{DateTime, Utc};
use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Result;

/// Durations of a run's last steps.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Pace {
    /// How many steps are counted: the last to end, at most 20.
    pub steps: i64,
    /// The median of their durations, in seconds.
    pub median_seconds: Option<f64>,
    /// Share of their time during which no item of the run was in progress.
    pub idle_share: Option<f64>,
    /// When the last of them ended.
    pub last_finished_at: Option<DateTime<Utc>>,
}

/// The pace of a run.
pub async fn pace(db: &PgPool, execution: ExecutionId) -> Result<Pace> {
    Ok(sqlx::query_as(
        "WITH recent AS (
             SELECT step, started_at, finished_at, extract(epoch FROM finished_at - started_at)::double precision AS wall
             FROM steps WHERE execution_id = $1 AND finished_at IS NOT NULL ORDER BY step DESC LIMIT 20
         ), busy AS (
             SELECT unnest(range_agg(tstzrange(w.started_at, w.finished_at))) AS span
             FROM work w JOIN recent r USING (step)
             WHERE w.execution_id = $1 AND w.started_at <= w.finished_at
         )
         SELECT count(*) AS steps, percentile_cont(0.5) WITHIN GROUP (ORDER BY wall) AS median_seconds,
             CASE WHEN sum(wall) > 0 THEN greatest(0, 1 - (SELECT coalesce(sum(extract(epoch FROM upper(span) - lower(span))), 0)
                 FROM busy)::double precision / sum(wall)) END AS idle_share,
             max(finished_at) AS last_finished_at
         FROM recent",
    )
    .bind(execution.0)
    .fetch_one(db)
    .await?)
}

/// The time of the last activity of a running run, if that was more than a minute ago.
pub async fn stalled_since(db: &PgPool, execution: ExecutionId) -> Result<Option<DateTime<Utc>>> {
    Ok(sqlx::query_scalar(
        "SELECT last FROM (
             SELECT greatest(e.updated_at, max(greatest(w.progress_at, w.started_at, w.finished_at))) AS last
             FROM executions e LEFT JOIN work w ON w.execution_id = e.id AND w.step = e.step
             WHERE e.id = $1 AND e.state = 'running' GROUP BY e.id
         ) news WHERE last < now() - interval '1 minute'",
    )
    .bind(execution.0)
    .fetch_optional(db)
    .await?
    .flatten())
}
