//! Renewing claims.

use sqlx::PgPool;
use std::time::Duration;

use super::Claim;
use crate::Result;

/// A handler's progress.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// From 0 to 1, if known.
    pub share: Option<f32>,
    /// The current activity.
    pub note: Option<String>,
}

/// Whether an item is still held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is still held.
    Yes,
    /// It was cancelled or given to another worker: further work on it is wasted.
    No,
}

/// Renews the claim. `progress` is given if there is any; its time determines "stalled since".
pub async fn renew(db: &PgPool, claim: &Claim, lease: Duration, progress: Option<&Progress>) -> Result<Held> {
    let renewed = sqlx::query(
        "UPDATE work SET lease_until = now() + $3 * interval '1 second',
             progress = coalesce($4, progress), progress_note = coalesce($5, progress_note),
             progress_at = CASE WHEN $6 THEN now() ELSE progress_at END
         WHERE id = $1 AND fence = $2 AND state = 'running'",
    )
    .bind(claim.id.0)
    .bind(claim.fence)
    .bind(lease.as_secs_f64())
    .bind(
        progress
            .and_then(|progress| progress.share)
            .map(|share| share.clamp(0.0, 1.0)),
    )
    .bind(progress.and_then(|progress| progress.note.as_deref()))
    .bind(progress.is_some())
    .execute(db)
    .await?;
    Ok(if renewed.rows_affected() == 1 {
        Held::Yes
    } else {
        Held::No
    })
}
