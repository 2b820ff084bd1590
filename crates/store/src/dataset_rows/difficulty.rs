//! How many rows are solved never, sometimes and always, over time.

use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::{Result, steps::Stretch};

/// The rows of a run by their latest answers, at the end of some steps.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DifficultyWindow {
    /// The first of the steps.
    pub step: i32,
    /// Rows without a correct answer when they were last asked.
    pub never: i64,
    /// Rows with correct and wrong answers when they were last asked.
    pub sometimes: i64,
    /// Rows with only correct answers when they were last asked.
    pub always: i64,
}

impl DifficultyWindow {
    /// Rows that have been asked.
    pub fn asked(&self) -> i64 {
        self.never + self.sometimes + self.always
    }
}

/// The rows of `run` that have been asked, by their latest answers, at the end of every `steps.width` steps.
pub async fn difficulty(db: &PgPool, run: ExecutionId, steps: Stretch) -> Result<Vec<DifficultyWindow>> {
    let [from, to, width] = steps.binds();
    Ok(sqlx::query_as(
        "SELECT DISTINCT ON (step / $2) step / $2 * $2 AS step, never, sometimes, always FROM row_difficulty
         WHERE run_id = $1 AND step BETWEEN $3 AND $4 ORDER BY step / $2, row_difficulty.step DESC",
    )
    .bind(run.0)
    .bind(width)
    .bind(from)
    .bind(to)
    .fetch_all(db)
    .await?)
}
