//! SQL on apalis' tables where its crate has no function: using up a ticket in the statement of a claim, and removing
//! rows it would keep for ever. Its statistics could count tickets, but scan the table some twenty times.

use sqlx::{PgConnection, PgPool};

use super::Lane;
use crate::Result;

/// The channel on which apalis' trigger announces jobs.
pub(super) const ANNOUNCED: &str = "apalis::job::insert";

/// Deletes a ticket that was not fetched yet from the queue named by the parameter `queue`, if `condition` holds.
pub(crate) fn use_up(queue: &str, condition: &str) -> String {
    format!(
        "DELETE FROM apalis.jobs WHERE id = (
             SELECT id FROM apalis.jobs
             WHERE {condition} AND job_type = {queue} AND status = 'Pending' AND run_at <= now()
             ORDER BY priority DESC, run_at
             LIMIT 1
             FOR UPDATE SKIP LOCKED
         )"
    )
}

/// Tickets of a lane that may still reach a slot.
pub(super) async fn out(db: &mut PgConnection, lane: Lane) -> Result<i64> {
    let out = "SELECT count(*) FROM apalis.jobs WHERE job_type = $1 AND status IN ('Pending', 'Queued')";
    Ok(sqlx::query_scalar(out).bind(lane.queue()).fetch_one(db).await?)
}

/// Removes used tickets and the queue's rows of workers that have left.
pub async fn tidy(db: &PgPool) -> Result<()> {
    sqlx::query(
        "DELETE FROM apalis.jobs WHERE status IN ('Done', 'Failed', 'Killed') AND done_at < now() - interval '1 minute'",
    )
    .execute(db)
    .await?;
    // A ticket of a dead worker is useless: top_up has issued another.
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
