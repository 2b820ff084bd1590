//! The end of an item: a result, a failure, or a release.

use std::time::Duration;

use lyceum_core::artifact::Digest;
use lyceum_core::id::{ExecutionId, WorkId};
use lyceum_core::work::{Outcome, Sampler, WorkKind};
use serde::Serialize;
use sqlx::types::Json;
use sqlx::{PgConnection, PgExecutor, PgPool};

use super::{Claim, WorkState};
use crate::executions::State;
use crate::queue::{Lane, issue};
use crate::text::json_text;
use crate::{Result, StoreError, artifact, event, executions};

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
        artifact::hold(&mut tx, *digest, claim.execution, artifact::Reason::Step, claim.id.0, Some(claim.key.step))
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The handler returned an error.
    Error,
    /// The handler panicked.
    Panic,
    /// The worker disappeared.
    Lost,
    /// The payload cannot be read.
    Payload,
}

/// Why an item failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: FailureKind,
    pub message: String,
    /// Whether another try may succeed.
    pub retry: bool,
}

/// Shortest and longest wait before the next try; it doubles in between.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// The wait before the try after try `attempt` (from 1).
pub(super) fn back_off(attempt: u32) -> Duration {
    BACK_OFF.0.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(BACK_OFF.1)
}

/// Records the failure on the item and either schedules another try or, without tries left, fails its execution.
/// Returns whether it will be tried again.
///
/// # Errors
/// [`StoreError::FenceLost`] if the claim is no longer held; nothing is written then.
pub async fn fail(db: &PgPool, claim: &Claim, failure: &Failure) -> Result<bool> {
    let mut tx = db.begin().await?;
    let again = fail_in(&mut tx, claim.id, claim.fence, failure).await?;
    tx.commit().await?;
    Ok(again)
}

pub(super) async fn fail_in(tx: &mut PgConnection, id: WorkId, fence: i64, failure: &Failure) -> Result<bool> {
    // Stopping an execution locks it before its items; the same order here prevents deadlocks.
    let state: Option<State> = sqlx::query_scalar(
        "SELECT state FROM executions WHERE id = (SELECT execution_id FROM work WHERE id = $1) FOR NO KEY UPDATE",
    )
    .bind(id.0)
    .fetch_optional(&mut *tx)
    .await?;
    let row: Option<(uuid::Uuid, WorkKind, i32, i32, String)> = sqlx::query_as(
        "SELECT execution_id, kind, attempts, max_attempts, format('%s/%s/%s/%s', step, phase, round, chunk) FROM work
         WHERE id = $1 AND fence = $2 AND state = 'running' FOR UPDATE",
    )
    .bind(id.0)
    .bind(fence)
    .fetch_optional(&mut *tx)
    .await?;
    let Some((execution, kind, attempts, max_attempts, place)) = row else { return Err(StoreError::FenceLost) };
    let execution = ExecutionId(execution);
    let again = failure.retry && attempts < max_attempts;
    // A lost worker is rarely its item's fault; if it is, the tries run out.
    let wait = if failure.kind == FailureKind::Lost { BACK_OFF.0 } else { back_off(attempts.cast_unsigned()) };
    sqlx::query(
        "UPDATE work SET state = CASE WHEN $3 THEN 'ready' ELSE 'failed' END, lease_until = NULL,
             run_at = now() + $4 * interval '1 second', finished_at = CASE WHEN $3 THEN NULL ELSE now() END,
             errors = errors || jsonb_build_array($2::jsonb || jsonb_build_object(
                 'attempt', attempts, 'at', now(), 'worker', worker_id))
         WHERE id = $1",
    )
    .bind(id.0)
    .bind(Json(serde_json::json!({ "kind": failure.kind, "message": crate::text::storable(&failure.message) })))
    .bind(again)
    .bind(wait.as_secs_f64())
    .execute(&mut *tx)
    .await?;
    // The sweep issues its ticket when it is due. An execution that has failed before keeps its end and the reason: what was
    // still running then says nothing about it.
    if !again && state.is_some_and(State::is_open) {
        let error = format!("{kind} {place} failed after {attempts} of {max_attempts} tries: {}", failure.message);
        executions::stop(tx, execution, State::Failed, Some(&error)).await?;
    }
    Ok(again)
}

/// Returns an item that its worker will not finish, for example because it was told to stop. The try does not count.
pub async fn release(db: &PgPool, claim: &Claim) -> Result<()> {
    let mut tx = db.begin().await?;
    let released = sqlx::query(
        "UPDATE work SET state = 'ready', attempts = attempts - 1, lease_until = NULL, worker_id = NULL, run_at = now()
         WHERE id = $1 AND fence = $2 AND state = 'running'",
    )
    .bind(claim.id.0)
    .bind(claim.fence)
    .execute(&mut *tx)
    .await?;
    if released.rows_affected() > 0 {
        issue(&mut tx, Lane::of(claim.kind, claim.sampler), 1).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Gives a failed item a fresh set of tries and resumes its failed execution.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] if the item has not failed.
pub async fn retry(db: &PgPool, id: WorkId) -> Result<()> {
    let mut tx = db.begin().await?;
    sqlx::query("SELECT FROM executions WHERE id = (SELECT execution_id FROM work WHERE id = $1) FOR NO KEY UPDATE")
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    let row: Option<(uuid::Uuid, WorkKind, Sampler, WorkState)> =
        sqlx::query_as("SELECT execution_id, kind, sampler, state FROM work WHERE id = $1 FOR UPDATE")
            .bind(id.0)
            .fetch_optional(&mut *tx)
            .await?;
    let (execution, kind, sampler, state) = row.ok_or_else(|| StoreError::not_found("work", id))?;
    if state != WorkState::Failed {
        return Err(StoreError::Conflict {
            what: "work",
            id: id.to_string(),
            state: state.to_string(),
            wanted: "failed",
            action: "retried",
        });
    }
    sqlx::query("UPDATE work SET state = 'ready', attempts = 0, run_at = now(), finished_at = NULL WHERE id = $1")
        .bind(id.0)
        .execute(&mut *tx)
        .await?;
    let execution = ExecutionId(execution);
    executions::restart(&mut tx, execution).await?;
    issue(&mut tx, Lane::of(kind, sampler), 1).await?;
    event::wake_coordinator(&mut *tx, execution).await?;
    tx.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_from_a_second_to_five_minutes() {
        let waits: Vec<u64> = (1..=11).map(|attempt| back_off(attempt).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!(back_off(u32::MAX), BACK_OFF.1);
    }
}
