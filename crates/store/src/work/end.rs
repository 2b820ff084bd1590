//! Writing a result.

use lyceum_core::{artifact::Digest, work::Outcome};
use sqlx::PgPool;

use super::Claim;
use crate::{Result, StoreError, artifact, event, text::json_text};

/// Writes `outcome`, `done` and the step's count in one transaction, and tells the coordinator. `artifacts` are those that
/// the outcome names; they are held until the step is over, or for as long as what the plan makes of them.
///
/// # Errors
/// [`StoreError::FenceLost`] when the claim is no longer held; then nothing is written.
pub async fn end(db: &PgPool, claim: &Claim, outcome: &Outcome, artifacts: &[Digest]) -> Result<()> {
    let mut tx = db.begin().await?;
    // The one row on which two last finishers meet: whoever comes second sees the other's count. It also numbers the ends,
    // in the order in which they become visible.
    let number: i32 =
        sqlx::query_scalar("UPDATE steps SET ended = ended + 1 WHERE execution_id = $1 AND step = $2 RETURNING ended")
            .bind(claim.execution.0)
            .bind(claim.key.step.cast_signed())
            .fetch_one(&mut *tx)
            .await?;
    let ended = sqlx::query(
        "UPDATE work SET state = 'done', result = $3::text::json, finished_at = now(), lease_until = NULL, progress = 1, number = $4
         WHERE id = $1 AND fence = $2 AND state = 'running'",
    )
    .bind(claim.id.0)
    .bind(claim.fence)
    .bind(json_text("result", outcome)?)
    .bind(number)
    .execute(&mut *tx)
    .await?;
    if ended.rows_affected() == 0 {
        return Err(StoreError::FenceLost);
    }
    for digest in artifacts {
        artifact::hold(
            &mut tx,
            *digest,
            claim.execution,
            artifact::Reason::Step,
            claim.id.0,
            Some(claim.key.step),
        )
        .await?;
    }
    event::wake_coordinator(&mut *tx, claim.execution).await?;
    tx.commit().await?;
    Ok(())
}
