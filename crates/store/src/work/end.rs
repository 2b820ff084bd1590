//! Writing a result.

use lyceum_core::{artifact::Digest, work::Outcome};
use sqlx::{PgExecutor, PgPool};

use super::Claim;
use crate::{Result, StoreError, artifact, event, text::json_text};

/// Items that end at the same time are serialized on the step's row: the second sees the first one's count. The row
/// also numbers the ends in the order they become visible. Nothing is counted unless the claim is held. One statement,
/// since every item pays for the round trips.
const END: &str = "
WITH held AS MATERIALIZED (
    SELECT id FROM work WHERE id = $3 AND fence = $4 AND state = 'running' FOR UPDATE
),
counted AS (
    UPDATE steps s SET ended = s.ended + 1 FROM held WHERE s.execution_id = $1 AND s.step = $2 RETURNING s.ended
),
done AS (
    UPDATE work SET state = 'done', result = $5::text::json, finished_at = now(), lease_until = NULL, progress = 1,
        number = counted.ended
    FROM counted
    WHERE id = $3
    RETURNING work.id
)
SELECT pg_notify($6, $1::uuid::text) FROM done";

/// Writes `outcome`, `done` and the step's count in one transaction, and tells the coordinator. `artifacts` are those
/// the outcome refers to; they are held until the step is over, or as long as the rows planned from them.
///
/// # Errors
/// [`StoreError::FenceLost`] if the claim is no longer held; nothing is written then.
pub async fn end(db: &PgPool, claim: &Claim, outcome: &Outcome, artifacts: &[Digest]) -> Result<()> {
    if artifacts.is_empty() {
        return write(db, claim, outcome).await;
    }
    let mut tx = db.begin().await?;
    write(&mut *tx, claim, outcome).await?;
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
    tx.commit().await?;
    Ok(())
}

async fn write(db: impl PgExecutor<'_>, claim: &Claim, outcome: &Outcome) -> Result<()> {
    let ended = sqlx::query(END)
        .bind(claim.execution.0)
        .bind(claim.key.step.cast_signed())
        .bind(claim.id.0)
        .bind(claim.fence)
        .bind(json_text("result", outcome)?)
        .bind(event::PLAN_CHANNEL)
        .fetch_optional(db)
        .await?;
    ended.map(|_| ()).ok_or(StoreError::FenceLost)
}
