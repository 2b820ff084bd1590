//! How fast a base generated when it was last measured, and on what the next ones will.

use sqlx::{FromRow, PgConnection};

use crate::Result;

/// How fast a base, with or without an adapter, generated.
#[derive(Clone, Copy, Debug, PartialEq, FromRow)]
pub struct Pace {
    /// Whether it answered the suite that was requested.
    pub is_of_suite: bool,
    pub seconds_per_answer: f64,
    pub seconds_per_token: f64,
}

/// The pace of a base's last result on a suite; of its last one on any, if it has none there.
pub async fn pace(db: &mut PgConnection, base: &str, suite: &str) -> Result<Option<Pace>> {
    let query = sqlx::query_as(
        "SELECT suite = $2 AS is_of_suite, seconds / (n * rows) AS seconds_per_answer,
             seconds / greatest(completion_tokens, 1) AS seconds_per_token
         FROM benchmark_results WHERE base_model = $1 ORDER BY suite = $2 DESC, seq DESC LIMIT 1",
    );
    Ok(query.bind(base).bind(suite).fetch_optional(db).await?)
}

/// Whether a worker that is alive computes on something faster than a processor.
pub async fn has_accelerator(db: &mut PgConnection) -> Result<bool> {
    let query =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM workers WHERE stopped_at IS NULL AND device <> 'cpu')");
    Ok(query.fetch_one(db).await?)
}
