//! Counts for monitoring.

mod runs;

pub use runs::{RunGauge, running_runs};

use sqlx::PgPool;

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
    Ok(
        sqlx::query_as("SELECT kind, state, count(*) AS count FROM executions GROUP BY kind, state")
            .fetch_all(db)
            .await?,
    )
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
