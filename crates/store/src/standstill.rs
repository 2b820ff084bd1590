//! Running runs of which nothing has moved for a minute, and why.

use std::fmt;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, WorkId};
use sqlx::{AssertSqlSafe, PgPool};

use crate::Result;
use crate::work::{ACCEPTS, Lack, lacks};

/// The reason for a standstill.
#[derive(Clone, Debug)]
pub enum Reason {
    /// Workers that could take its items are busy.
    Queued {
        /// Items of other runs and evaluations that are ready or in progress.
        others: i64,
    },
    /// No worker that is present can take an item.
    Blocked(Lack),
    /// An item failed with this error and is not yet due again.
    Retrying(String),
    /// A worker could take its items, or holds one, and nothing happens.
    Stalled,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queued { others: 1 } => f.write_str("Queued: the workers also have 1 item of another run"),
            Self::Queued { others } => write!(f, "Queued: the workers also have {others} items of other runs"),
            Self::Blocked(lack) => write!(f, "Blocked: {lack}"),
            Self::Retrying(error) => write!(f, "Retrying an item that failed: {error}"),
            Self::Stalled => f.write_str("Stalled: nothing has moved for a minute"),
        }
    }
}

/// The time of the last event of execution `e`.
const LAST: &str =
    "greatest(e.updated_at, (SELECT max(greatest(w.progress_at, w.started_at, w.finished_at)) FROM work w
    WHERE w.execution_id = e.id AND w.step = e.step))";

/// Whether an item `w` waits for its turn, for a worker that could take it, or for its next try.
static WAITS: LazyLock<String> = LazyLock::new(|| {
    let accepting = format!("EXISTS (SELECT FROM workers k WHERE {}", *ACCEPTS);
    format!(
        "w.execution_id = e.id AND w.step = e.step AND w.state = 'ready' AND (w.run_at > now() OR NOT {accepting})
         OR {accepting} AND EXISTS (SELECT FROM work held WHERE held.worker_id = k.id AND held.state = 'running'
             AND held.progress_at > now() - interval '1 minute')))"
    )
});

/// For a query of executions `e`: the time since which each is stalled, or null.
pub(crate) static STALLED_SINCE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "CASE WHEN e.state = 'running' AND {LAST} < now() - interval '1 minute'
             AND NOT EXISTS (SELECT FROM work w WHERE {}) THEN {LAST} END",
        *WAITS
    )
});

/// The time since which nothing of a running execution has moved, if that is over a minute, and why.
pub async fn find(db: &PgPool, execution: ExecutionId) -> Result<Option<(DateTime<Utc>, Reason)>> {
    let since: Option<DateTime<Utc>> = sqlx::query_scalar(AssertSqlSafe(format!(
        "SELECT {LAST} FROM executions e WHERE e.id = $1 AND e.state = 'running' AND {LAST} < now() - interval '1 minute'"
    )))
    .bind(execution.0)
    .fetch_optional(db)
    .await?
    .flatten();
    let Some(since) = since else { return Ok(None) };
    let waiting: Option<(uuid::Uuid, bool, Option<String>)> = sqlx::query_as(AssertSqlSafe(format!(
        "SELECT w.id, w.run_at > now(), w.errors -> -1 ->> 'message' FROM executions e JOIN work w ON {} WHERE e.id = $1
         ORDER BY w.seq LIMIT 1",
        *WAITS
    )))
    .bind(execution.0)
    .fetch_optional(db)
    .await?;
    let reason = match waiting {
        None => Reason::Stalled,
        Some((_, true, error)) => Reason::Retrying(error.unwrap_or_default()),
        Some((item, false, _)) => match lacks(db, WorkId(item)).await? {
            Some(lack) => Reason::Blocked(lack),
            None => Reason::Queued { others: others(db, execution).await? },
        },
    };
    Ok(Some((since, reason)))
}

async fn others(db: &PgPool, execution: ExecutionId) -> Result<i64> {
    Ok(sqlx::query_scalar(
        "SELECT count(*) FROM work w JOIN executions e ON e.id = w.execution_id AND e.state = 'running'
         WHERE w.execution_id <> $1 AND w.state IN ('ready', 'running')",
    )
    .bind(execution.0)
    .fetch_one(db)
    .await?)
}
