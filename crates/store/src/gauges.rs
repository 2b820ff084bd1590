//! Counts for monitoring.

use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

/// A count by kind and state.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Count {
    /// A kind of work, `run`, `evaluation` or `worker`.
    pub kind: String,
    pub state: String,
    pub count: i64,
}

/// Ready and running work, by kind and state.
pub async fn open_work(db: &PgPool) -> Result<Vec<Count>> {
    Ok(sqlx::query_as(
        "SELECT kind, state, count(*) AS count FROM work WHERE state = 'ready' GROUP BY kind, state
         UNION ALL
         SELECT kind, state, count(*) AS count FROM work WHERE state = 'running' GROUP BY kind, state",
    )
    .fetch_all(db)
    .await?)
}

/// Runs and evaluations, by state.
pub async fn executions(db: &PgPool) -> Result<Vec<Count>> {
    Ok(sqlx::query_as("SELECT kind, state, count(*) AS count FROM executions GROUP BY kind, state")
        .fetch_all(db)
        .await?)
}

/// Workers that have not left, by state.
pub async fn workers(db: &PgPool) -> Result<Vec<Count>> {
    Ok(sqlx::query_as(
        "SELECT 'worker' AS kind, state, count(*) AS count FROM workers WHERE stopped_at IS NULL GROUP BY state",
    )
    .fetch_all(db)
    .await?)
}

/// How long the oldest ready item has been waiting, in seconds; `None` if no item is ready.
pub async fn oldest_ready_seconds(db: &PgPool) -> Result<Option<f64>> {
    Ok(sqlx::query_scalar(
        "SELECT extract(epoch FROM now() - min(w.run_at))::float8 FROM work w JOIN executions e ON e.id = w.execution_id
         WHERE w.state = 'ready' AND e.state = 'running' AND w.run_at <= now()",
    )
    .fetch_one(db)
    .await?)
}

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
