//! Removing a run.

use lyceum_core::id::ExecutionId;
use sqlx::PgPool;

use crate::{Result, StoreError};

/// Removes a run that has ended, with all its rows. Artifacts that nothing else holds are removed by the next
/// collection.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] if it has not ended.
pub async fn remove(db: &PgPool, id: ExecutionId) -> Result<()> {
    let mut tx = db.begin().await?;
    let state: Option<String> =
        sqlx::query_scalar("SELECT state FROM executions WHERE id = $1 AND kind = 'run' FOR UPDATE")
            .bind(id.0)
            .fetch_optional(&mut *tx)
            .await?;
    let state = state.ok_or_else(|| StoreError::not_found("run", id))?;
    if matches!(state.as_str(), "running" | "paused") {
        return Err(StoreError::Conflict {
            what: "run",
            id: id.to_string(),
            state,
            wanted: "completed, failed or cancelled",
            action: "deleted",
        });
    }
    sqlx::query("DELETE FROM executions WHERE id IN (SELECT id FROM evaluations WHERE run_id = $1)")
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    sqlx::query("DELETE FROM executions WHERE id = $1")
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}
