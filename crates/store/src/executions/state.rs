//! States of executions.
//!
//! ```text
//! running ⇄ paused        running → completed
//! running → failed        failed → running
//! running, paused, failed → cancelled
//! ```

use lyceum_core::id::ExecutionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{Acquire, PgConnection, PgPool, Postgres};
use strum::{IntoStaticStr, VariantArray};
use utoipa::ToSchema;

use crate::{Result, StoreError, event};

/// What a run or evaluation is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// Its items are being worked on.
    Running,
    /// No further items are started; running ones are finished.
    Paused,
    /// All its steps have ended.
    Completed,
    /// An item or a plan failed permanently.
    Failed,
    /// It was cancelled.
    Cancelled,
}

lyceum_core::named!(State, "a state of a run or evaluation");

impl State {
    /// Whether it is running or paused.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::Paused)
    }
}

/// Locks the state of an execution until the transaction ends.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn lock(tx: &mut PgConnection, id: ExecutionId) -> Result<()> {
    let found = sqlx::query("SELECT FROM executions WHERE id = $1 FOR NO KEY UPDATE").bind(id.0);
    match found.fetch_optional(tx).await? {
        Some(_) => Ok(()),
        None => Err(StoreError::not_found("execution", id)),
    }
}

/// Pauses a running execution: no further items are started.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] in another state.
pub async fn pause<'c>(db: impl Acquire<'c, Database = Postgres>, id: ExecutionId) -> Result<()> {
    change(db, id, &[State::Running], State::Paused, "running", "paused").await
}

/// Resumes a paused or failed execution. Failed items get a fresh set of tries.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] in another state.
pub async fn resume<'c>(db: impl Acquire<'c, Database = Postgres>, id: ExecutionId) -> Result<()> {
    change(db, id, &[State::Paused, State::Failed], State::Running, "paused or failed", "resumed").await
}

/// Cancels an execution that has not ended. Workers drop its items at their next renewal.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] if it has ended.
pub async fn cancel<'c>(db: impl Acquire<'c, Database = Postgres>, id: ExecutionId) -> Result<()> {
    let open = [State::Running, State::Paused, State::Failed];
    change(db, id, &open, State::Cancelled, "running, paused or failed", "cancelled").await
}

/// Marks a running execution as failed; others are left as they are.
pub async fn fail(db: &PgPool, id: ExecutionId, error: &str) -> Result<()> {
    let mut tx = db.begin().await?;
    let running: Option<bool> =
        sqlx::query_scalar("SELECT state = 'running' FROM executions WHERE id = $1 FOR NO KEY UPDATE")
            .bind(id.0)
            .fetch_optional(&mut *tx)
            .await?;
    if running == Some(true) {
        stop(&mut tx, id, State::Failed, Some(error)).await?;
    }
    tx.commit().await?;
    Ok(())
}

async fn change<'c>(
    db: impl Acquire<'c, Database = Postgres>,
    id: ExecutionId,
    from: &[State],
    to: State,
    wanted: &'static str,
    action: &'static str,
) -> Result<()> {
    let mut tx = db.begin().await?;
    let row: Option<(String, State)> =
        sqlx::query_as("SELECT kind, state FROM executions WHERE id = $1 FOR NO KEY UPDATE")
            .bind(id.0)
            .fetch_optional(&mut *tx)
            .await?;
    let (kind, state) = row.ok_or_else(|| StoreError::not_found("execution", id))?;
    if !from.contains(&state) {
        let what = if kind == "run" { "run" } else { "evaluation" };
        return Err(StoreError::Conflict { what, id: id.to_string(), state: state.to_string(), wanted, action });
    }
    stop(&mut tx, id, to, None).await?;
    if to == State::Running {
        // The sweep issues the tickets.
        sqlx::query(
            "UPDATE work SET state = 'ready', attempts = 0, run_at = now(), finished_at = NULL
             WHERE execution_id = $1 AND state = 'failed'",
        )
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
        event::wake_coordinator(&mut *tx, id).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Sets the state of an execution whose row this transaction has locked. If cancelled, its open items are cancelled
/// too.
pub(crate) async fn stop(tx: &mut PgConnection, id: ExecutionId, to: State, error: Option<&str>) -> Result<()> {
    let error = error.map(crate::text::storable);
    let over = matches!(to, State::Completed | State::Failed | State::Cancelled);
    sqlx::query(
        "UPDATE executions SET state = $2, error = $3, finished_at = CASE WHEN $4 THEN now() END, updated_at = now()
         WHERE id = $1",
    )
    .bind(id.0)
    .bind(to)
    .bind(error.as_deref())
    .bind(over)
    .execute(&mut *tx)
    .await?;
    if to == State::Cancelled {
        sqlx::query(
            "UPDATE work SET state = 'cancelled', lease_until = NULL, finished_at = now()
             WHERE execution_id = $1 AND state IN ('ready', 'running')",
        )
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    }
    event::append(tx, id, "state", &serde_json::json!({ "state": to, "error": error })).await?;
    Ok(())
}

/// Resumes a failed execution unless another of its items has failed.
pub(crate) async fn restart(tx: &mut PgConnection, id: ExecutionId) -> Result<()> {
    let restarts: bool = sqlx::query_scalar(
        "SELECT state = 'failed' AND NOT EXISTS (SELECT FROM work WHERE execution_id = $1 AND state = 'failed')
         FROM executions WHERE id = $1",
    )
    .bind(id.0)
    .fetch_one(&mut *tx)
    .await?;
    if restarts {
        stop(tx, id, State::Running, None).await?;
    }
    Ok(())
}
