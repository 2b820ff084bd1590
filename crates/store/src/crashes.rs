//! Crashes: ends of Lyceum's own processes that nobody asked for.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Result;
use crate::text::storable;

/// A program that ended for one cause, once or several times in a row.
#[derive(Clone, Debug, FromRow, PartialEq, Eq, Serialize)]
pub struct Crash {
    /// The machine.
    pub host: String,
    pub program: String,
    /// How it ended, such as `signal: 9 (SIGKILL)`.
    pub cause: String,
    /// The end of what it wrote to standard error, the last time; may be empty.
    pub last_words: String,
    /// How often in a row.
    pub times: i64,
    pub first_at: DateTime<Utc>,
    pub last_at: DateTime<Utc>,
}

/// Records that `program` on `host` ended at `at`. A cause that repeats within an hour counts in the row that is there, so a
/// program that cannot live fills no table.
pub async fn record(
    db: &PgPool,
    host: &str,
    program: &str,
    cause: &str,
    last_words: &str,
    at: DateTime<Utc>,
) -> Result<()> {
    let repeated = sqlx::query(
        "UPDATE crashes SET times = times + 1, last_at = $5, last_words = $4
         WHERE seq = (SELECT seq FROM crashes WHERE host = $1 AND program = $2 ORDER BY seq DESC LIMIT 1)
             AND cause = $3 AND last_at BETWEEN $5 - interval '1 hour' AND $5",
    );
    let new = sqlx::query(
        "INSERT INTO crashes (host, program, cause, last_words, first_at, last_at) VALUES ($1, $2, $3, $4, $5, $5)",
    );
    for statement in [repeated, new] {
        let done = statement
            .bind(storable(host))
            .bind(storable(program))
            .bind(storable(cause))
            .bind(storable(last_words))
            .bind(at)
            .execute(db)
            .await?;
        if done.rows_affected() > 0 {
            break;
        }
    }
    Ok(())
}

/// Removes crashes of more than 90 days ago.
pub async fn tidy(db: &PgPool) -> Result<()> {
    sqlx::query("DELETE FROM crashes WHERE last_at < now() - interval '90 days'").execute(db).await?;
    Ok(())
}

/// The newest `limit` crashes of the last `days` days.
pub async fn recent(db: &PgPool, days: i32, limit: i64) -> Result<Vec<Crash>> {
    Ok(sqlx::query_as(
        "SELECT host, program, cause, last_words, times, first_at, last_at FROM crashes
         WHERE last_at > now() - make_interval(days => $1) ORDER BY last_at DESC, seq DESC LIMIT $2",
    )
    .bind(days)
    .bind(limit)
    .fetch_all(db)
    .await?)
}
