//! How long steps took.

use lyceum_core::id::ExecutionId;
use sqlx::PgPool;

use crate::Result;

/// The duration of each finished step of `run`, in seconds, in order.
pub async fn seconds(db: &PgPool, run: ExecutionId) -> Result<Vec<f64>> {
    // One array is read in a fraction of the time of as many rows.
    Ok(sqlx::query_scalar(
        "SELECT ARRAY(SELECT extract(epoch FROM finished_at - started_at)::float8 FROM steps
             WHERE execution_id = $1 AND finished_at IS NOT NULL ORDER BY step)",
    )
    .bind(run.0)
    .fetch_one(db)
    .await?)
}

/// The same with the number of each step. What a fork took over comes first, with the durations in the run that did it;
/// without them if that run was deleted.
pub async fn seconds_with_past(db: &PgPool, run: ExecutionId) -> Result<Vec<(i32, f64)>> {
    let (steps, seconds): (Vec<i32>, Vec<f64>) = sqlx::query_as(
        "SELECT coalesce(array_agg(step ORDER BY step), '{}'), coalesce(array_agg(seconds ORDER BY step), '{}')
         FROM (SELECT s.step, extract(epoch FROM s.finished_at - s.started_at)::float8 AS seconds
               FROM past_of($1) past JOIN steps s ON s.execution_id = past.run_id
               WHERE s.finished_at IS NOT NULL AND (past.before IS NULL OR s.step < past.before)) each",
    )
    .bind(run.0)
    .fetch_one(db)
    .await?;
    Ok(steps.into_iter().zip(seconds).collect())
}
