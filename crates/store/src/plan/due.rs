//! Which executions should be planned, and by whom.

use lyceum_core::{config::RunConfig, id::ExecutionId, recipe::RunState};
use sqlx::{PgConnection, PgPool, types::Json};
use std::sync::Arc;
use uuid::Uuid;

use crate::Result;

/// Running executions whose step has not been planned, or has had items end since.
pub async fn due(db: &PgPool) -> Result<Vec<ExecutionId>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT e.id FROM executions e JOIN steps s ON s.execution_id = e.id AND s.step = e.step
         WHERE e.state = 'running' AND s.finished_at IS NULL AND s.ended > s.planned",
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(ExecutionId).collect())
}

/// An execution that this transaction alone may plan.
#[derive(Clone, Debug)]
pub struct Locked {
    /// What it remembers before its step.
    pub state: RunState,
    /// Ends of items that the plan to be made will have seen at least.
    pub ended: i32,
    /// Whether it is a run (and not an evaluation), which writes all records for itself.
    pub is_run: bool,
}

/// Locks an execution that is due for planning. `None` when it is not due, or when another coordinator has it: that one
/// looks again after it has planned.
pub async fn lock(tx: &mut PgConnection, id: ExecutionId) -> Result<Option<Locked>> {
    let row: Option<(bool, Json<RunConfig>, Json<RunState>, i32)> = sqlx::query_as(
        "SELECT e.kind = 'run', e.config, r.state, s.ended FROM executions e
         JOIN steps s ON s.execution_id = e.id AND s.step = e.step
         JOIN run_states r ON r.execution_id = e.id AND r.step = e.step
         WHERE e.id = $1 AND e.state = 'running' AND s.finished_at IS NULL AND s.ended > s.planned
         FOR NO KEY UPDATE OF e SKIP LOCKED",
    )
    .bind(id.0)
    .fetch_optional(tx)
    .await?;
    Ok(row.map(|(is_run, config, state, ended)| Locked {
        state: RunState {
            config: Arc::new(config.0),
            ..state.0
        },
        ended,
        is_run,
    }))
}
