//! Removing a run.

use lyceum_core::id::ExecutionId;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::{Result, StoreError};

/// The runs that point at a run's problems, the oldest first: its forks with a past, theirs in turn, and forks of forks that
/// were deleted, whose archives and rows still name them. A fork before step 0 took nothing over.
const FORKS: &str = "
WITH RECURSIVE forks AS (
    SELECT r.id FROM runs r WHERE r.forked_at_step > 0 AND (r.forked_from = $1 OR r.forked_from IS NULL AND (
        EXISTS (SELECT FROM archive_insertions i JOIN problems p ON p.id = i.problem_id
                WHERE i.run_id = r.id AND p.run_id = $1)
        OR EXISTS (SELECT FROM row_answers a JOIN problems p ON p.id = a.problem_id
                   WHERE a.run_id = r.id AND p.run_id = $1)))
    UNION
    SELECT r.id FROM runs r JOIN forks f ON r.forked_from = f.id WHERE r.forked_at_step > 0
)
SELECT r.id, r.name FROM forks JOIN runs r USING (id) JOIN executions e USING (id) ORDER BY e.seq";

/// Removes a run that has ended, with all its rows. Artifacts that nothing else holds are removed by the next
/// collection.
///
/// # Errors
/// [`StoreError::NotFound`], [`StoreError::Conflict`] if it has not ended, or [`StoreError::Forked`] if forks need its
/// problems.
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
    // Before the run's own row is locked, as plans of evaluations lock them in this order.
    sqlx::query("DELETE FROM executions WHERE id IN (SELECT id FROM evaluations WHERE run_id = $1)")
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    // A fork that is being written has its origin's row until it is there to be seen.
    sqlx::query("SELECT FROM runs WHERE id = $1 FOR UPDATE")
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    not_forked(&mut tx, id).await?;
    sqlx::query("DELETE FROM executions WHERE id = $1")
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}

/// # Errors
/// [`StoreError::Forked`] with the forks that would lose what they took over.
async fn not_forked(tx: &mut PgConnection, id: ExecutionId) -> Result<()> {
    let forks: Vec<(Uuid, String)> = sqlx::query_as(FORKS).bind(id.0).fetch_all(tx).await?;
    if forks.is_empty() {
        return Ok(());
    }
    let forks: Vec<String> = forks
        .into_iter()
        .map(|(id, name)| format!("run `{name}` ({id})"))
        .collect();
    Err(StoreError::Forked {
        run: id,
        forks: forks.join(", "),
    })
}
