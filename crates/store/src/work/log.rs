//! What workers said while they ran an item.

use chrono::{DateTime, Utc};
use lyceum_core::id::WorkId;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgPool, types::Json};

use super::Claim;
use crate::{Result, text::json_text};

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct LogLine {
    /// When it was written.
    pub at: DateTime<Utc>,
    /// `error`, `warn`, `info`, `debug`, `trace`, or `progress`.
    pub level: String,
    /// The line.
    pub text: String,
}

#[derive(Clone, Debug, Serialize, FromRow)]
pub struct TryLog {
    /// The number of the try, from 1, counting on through new sets of tries and tries that were handed back.
    pub attempt: i32,
    pub worker: Option<String>,
    /// Its lines, the oldest first.
    #[serde(serialize_with = "bare")]
    pub lines: Json<Vec<LogLine>>,
}

fn bare<S: serde::Serializer>(lines: &Json<Vec<LogLine>>, serializer: S) -> Result<S::Ok, S::Error> {
    lines.0.serialize(serializer)
}

/// Keeps the log of a try. It needs no claim: it says what happened, whoever holds the item by now.
///
/// Tries are told apart by their fences, which are never given twice: their numbers begin anew when an item gets another set
/// of tries, and are given again after a try that was handed back.
pub async fn keep_log(db: &PgPool, claim: &Claim, worker: lyceum_core::id::WorkerId, lines: &[LogLine]) -> Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO work_logs (work_id, attempt, worker_id, lines) VALUES ($1, $2, $3, $4::text::json)
         ON CONFLICT (work_id, attempt) DO NOTHING",
    )
    .bind(claim.id.0)
    .bind(i32::try_from(claim.fence).unwrap_or(i32::MAX))
    .bind(worker.0)
    .bind(json_text("lines", &lines)?)
    .execute(db)
    .await?;
    Ok(())
}

/// The logs of an item's tries, the first one first.
pub async fn logs(db: &PgPool, item: WorkId) -> Result<Vec<TryLog>> {
    Ok(sqlx::query_as(
        "SELECT l.attempt, w.name AS worker, l.lines FROM work_logs l LEFT JOIN workers w ON w.id = l.worker_id
         WHERE l.work_id = $1 ORDER BY l.attempt",
    )
    .bind(item.0)
    .fetch_all(db)
    .await?)
}
