//! Executions that a server cannot plan because another release began them.

use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgExecutor};
use std::time::Duration;

use crate::{Result, text::storable};

/// How often a server says so again.
pub const REFUSED_EVERY: Duration = Duration::from_secs(60);

/// Why a server cannot plan an execution.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize)]
pub struct Refusal {
    /// The server's release.
    pub release: String,
    /// What it cannot read or does not know.
    pub reason: String,
}

/// Records that a server of `release` cannot plan an execution. It stays as it is, for a server that can.
pub async fn refuse(db: impl PgExecutor<'_>, id: ExecutionId, release: &str, reason: &str) -> Result<()> {
    sqlx::query(
        "INSERT INTO refusals (execution_id, release, reason) VALUES ($1, $2, $3)
         ON CONFLICT (execution_id) DO UPDATE SET release = excluded.release, reason = excluded.reason, at = now()",
    )
    .bind(id.0)
    .bind(release)
    .bind(storable(reason).as_ref())
    .execute(db)
    .await?;
    Ok(())
}

/// Why an execution that is due is not planned: the last refusal, if nobody has planned it since.
pub async fn refusal(db: impl PgExecutor<'_>, id: ExecutionId) -> Result<Option<Refusal>> {
    let refusal = sqlx::query_as(
        "SELECT r.release, r.reason FROM refusals r
         JOIN executions e ON e.id = r.execution_id JOIN steps s ON s.execution_id = e.id AND s.step = e.step
         WHERE e.id = $1 AND e.state = 'running' AND s.finished_at IS NULL AND s.ended > s.planned
           AND r.at > now() - $2 * interval '1 second'",
    )
    .bind(id.0)
    .bind(2.0 * REFUSED_EVERY.as_secs_f64())
    .fetch_optional(db)
    .await?;
    Ok(refusal)
}
