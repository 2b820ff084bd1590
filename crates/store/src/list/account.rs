//! What a run used up, from its metrics.

use lyceum_core::id::ExecutionId;
use sqlx::PgPool;

use crate::Result;

/// Sums over all steps of the run's own values of the metrics at `places` (from 0), in their order; a value that is
/// missing (NaN) does not count, and a metric that never had one is none.
pub async fn metric_sums(db: &PgPool, run: ExecutionId, places: &[usize]) -> Result<Vec<Option<f64>>> {
    let places: Vec<i32> = places
        .iter()
        .map(|place| i32::try_from(*place).unwrap_or(i32::MAX - 1) + 1)
        .collect();
    Ok(sqlx::query_scalar(
        "SELECT (SELECT sum(\"values\"[place]) FROM metrics WHERE run_id = $1 AND member_id IS NULL AND \"values\"[place] <> 'NaN')
         FROM unnest($2::int[]) WITH ORDINALITY AS u (place, i) ORDER BY i",
    )
    .bind(run.0)
    .bind(places)
    .fetch_all(db)
    .await?)
}

/// Adapters of `run` that live.
pub async fn living_members(db: &PgPool, run: ExecutionId) -> Result<i64> {
    Ok(
        sqlx::query_scalar("SELECT count(*) FROM members WHERE run_id = $1 AND died_step IS NULL")
            .bind(run.0)
            .fetch_one(db)
            .await?,
    )
}

/// Seconds that each finished step of `run` took, in order.
pub async fn step_seconds(db: &PgPool, run: ExecutionId) -> Result<Vec<f64>> {
    Ok(sqlx::query_scalar(
        "SELECT extract(epoch FROM finished_at - started_at)::float8 FROM steps
         WHERE execution_id = $1 AND finished_at IS NOT NULL ORDER BY step",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?)
}
