//! Tickets: leave to look for one item.

use serde::{Deserialize, Serialize};
use sqlx::{PgConnection, PgExecutor, PgPool};
use std::time::Duration;

use super::Lane;
use crate::Result;

/// Leave to look for one item of a lane. It says nothing about which.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Ticket {}

/// Tickets are tried once: what a failed look leaves behind, [`top_up`] makes good.
const ISSUE: &str = "INSERT INTO apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority)
    SELECT apalis.generate_ulid(), $1, convert_to('{}', 'UTF8'), 'Pending', 0, 1, now() + $3 * interval '1 second', 0
    FROM generate_series(1, $2)";

/// Issues `count` tickets. Inside a transaction they come to be with it.
pub async fn issue(db: impl PgExecutor<'_>, lane: Lane, count: u32) -> Result<()> {
    issue_later(db, lane, count, Duration::ZERO).await
}

/// Issues `count` tickets that are good from `delay` on.
pub async fn issue_later(db: impl PgExecutor<'_>, lane: Lane, count: u32, delay: Duration) -> Result<()> {
    if count > 0 {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        sqlx::query(ISSUE)
            .bind(lane.queue())
            .bind(count)
            .bind(delay.as_secs_f64())
            .execute(db)
            .await?;
    }
    Ok(())
}

/// Gives a ticket back that this worker could not use although there are items that another might take.
pub async fn hand_back(db: &PgPool, lane: Lane, delay: Duration) -> Result<()> {
    issue_later(db, lane, 1, delay).await
}

/// Issues tickets where fewer are out than items wait: those that died with a worker between ticket and claim.
/// Returns how many were missing.
pub async fn top_up(db: &mut PgConnection, lane: Lane) -> Result<u32> {
    let kinds: Vec<&str> = lane.kinds().map(|kind| kind.name()).collect();
    let (waiting, out): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM work w JOIN executions e ON e.id = w.execution_id
                 WHERE w.state = 'ready' AND w.kind = ANY($1) AND w.run_at <= now() AND e.state = 'running'),
                (SELECT count(*) FROM apalis.jobs WHERE job_type = $2 AND status IN ('Pending', 'Queued'))",
    )
    .bind(kinds)
    .bind(lane.queue())
    .fetch_one(&mut *db)
    .await?;
    let missing = u32::try_from((waiting - out).clamp(0, 1000)).unwrap_or(0);
    issue(db, lane, missing).await?;
    Ok(missing)
}

/// Removes used tickets and the queue's rows of workers that are gone, which apalis keeps forever.
pub async fn tidy(db: &PgPool) -> Result<()> {
    sqlx::query(
        "DELETE FROM apalis.jobs WHERE status IN ('Done', 'Failed', 'Killed') AND run_at < now() - interval '1 minute'",
    )
    .execute(db)
    .await?;
    // A ticket that its worker took to the grave is of no use to anybody: top_up has issued another.
    sqlx::query(
        "DELETE FROM apalis.jobs WHERE status IN ('Queued', 'Running') AND lock_at < now() - interval '1 minute'
         AND lock_by IN (SELECT id FROM apalis.workers WHERE last_seen < now() - interval '1 minute')",
    )
    .execute(db)
    .await?;
    sqlx::query(
        "DELETE FROM apalis.workers w WHERE last_seen < now() - interval '10 minutes'
         AND NOT EXISTS (SELECT FROM apalis.jobs j WHERE j.lock_by = w.id)",
    )
    .execute(db)
    .await?;
    Ok(())
}
