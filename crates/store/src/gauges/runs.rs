//! Running runs, for monitoring.

use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

/// A running run.
#[derive(Clone, Debug, FromRow)]
pub struct RunGauge {
    /// The run.
    pub id: Uuid,
    pub name: String,
    pub recipe: String,
    /// The current step.
    pub step: i32,
    /// Number of steps.
    pub steps: i32,
    /// Seconds since anything last happened to it.
    pub quiet_seconds: f64,
    /// Names of its metrics.
    pub metrics: Vec<String>,
    /// Their values in its last step, NaN where there is none.
    pub values: Vec<f64>,
}

/// The newest running runs, at most `limit`.
pub async fn running_runs(db: &PgPool, limit: i64) -> Result<Vec<RunGauge>> {
    Ok(sqlx::query_as(
        "SELECT e.id, r.name, e.recipe, e.step, e.steps,
             extract(epoch FROM now() - e.updated_at)::double precision AS quiet_seconds, e.metrics,
             coalesce(k.\"values\", '{}') AS values
         FROM executions e JOIN runs r ON r.id = e.id LEFT JOIN recent_metrics k ON k.run_id = e.id AND k.steps = 1
         WHERE e.kind = 'run' AND e.state = 'running' ORDER BY e.seq DESC LIMIT $1",
    )
    .bind(limit)
    .fetch_all(db)
    .await?)
}
