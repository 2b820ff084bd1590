//! Executions to be planned, and their lock.

use lyceum_core::{config::RunConfig, id::ExecutionId, recipe::RunState};
use sqlx::{PgConnection, PgPool, types::Json};
use std::{collections::HashSet, sync::Arc};
use uuid::Uuid;

use crate::Result;

/// Running executions whose step has not been planned, or has had items end since its last plan.
pub async fn due(db: &PgPool) -> Result<Vec<ExecutionId>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT e.id FROM executions e JOIN steps s ON s.execution_id = e.id AND s.step = e.step
         WHERE e.state = 'running' AND s.finished_at IS NULL AND s.ended > s.planned",
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(ExecutionId).collect())
}

/// Those of these executions that are running.
pub async fn running(db: &PgPool, ids: &[ExecutionId]) -> Result<HashSet<ExecutionId>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    let running: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM executions WHERE id = ANY($1) AND state = 'running'")
        .bind(ids)
        .fetch_all(db)
        .await?;
    Ok(running.into_iter().map(ExecutionId).collect())
}

/// An execution locked for planning.
#[derive(Clone, Debug)]
pub struct Locked {
    /// Its state before the step.
    pub state: RunState,
    /// Number of ended items that the plan will have seen, at least.
    pub ended: i32,
    /// Whether it is a run rather than an evaluation; a run writes all records under its own id.
    pub is_run: bool,
}

/// Locks an execution that is due for planning. `None` if it is not due, or if another coordinator has it, which checks
/// again after planning.
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
