//! What a run used up, from its metrics.

use lyceum_core::id::ExecutionId;
use sqlx::{PgPool, QueryBuilder};

use crate::Result;

/// Sums over all steps of the run's own values of the metrics at `places` (from 0), in their order; a value that is
/// missing (NaN) does not count, and a metric that never had one is none.
pub async fn metric_sums(db: &PgPool, run: ExecutionId, places: &[usize]) -> Result<Vec<Option<f64>>> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = QueryBuilder::new("SELECT ARRAY[");
    let mut sums = query.separated(", ");
    for place in places {
        let place = i32::try_from(*place).unwrap_or(i32::MAX - 1) + 1;
        sums.push("sum(nullif(\"values\"[")
            .push_bind_unseparated(place)
            .push_unseparated("], 'NaN'))");
    }
    query.push("]::float8[] FROM metrics WHERE run_id = ").push_bind(run.0);
    query.push(" AND member_id IS NULL");
    Ok(query.build_query_scalar().fetch_one(db).await?)
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
