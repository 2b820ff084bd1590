//! What was measured with each suite.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Result;

/// What was measured with a suite.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct SuiteUse {
    #[serde(skip)]
    pub suite: String,
    /// Runs with results on it.
    pub runs: i64,
    /// Results.
    pub results: i64,
    /// When the last one was written.
    pub last: DateTime<Utc>,
}

/// The use of every suite that anything was measured with.
pub async fn use_of_suites(db: &PgPool) -> Result<Vec<SuiteUse>> {
    Ok(sqlx::query_as(
        "SELECT suite, count(DISTINCT run_id) AS runs, count(*) AS results, max(created_at) AS last
         FROM benchmark_results GROUP BY suite",
    )
    .fetch_all(db)
    .await?)
}
