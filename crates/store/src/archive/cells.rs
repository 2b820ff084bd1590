//! Occupied cells.

use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

/// An occupied cell.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Cell {
    /// The cell.
    pub cell: i32,
    /// Its elite.
    pub problem_id: Uuid,
    /// The step in which the elite was inserted.
    pub step: i32,
    /// The value by which elites are compared.
    pub objective: f32,
}

/// The map of `run` after `step`, or now: each occupied cell with its elite, by cell.
pub async fn cells_at(db: &PgPool, run: ExecutionId, step: Option<u32>) -> Result<Vec<Cell>> {
    Ok(sqlx::query_as(
        "SELECT DISTINCT ON (cell) cell, problem_id, step, objective FROM archive_insertions
         WHERE run_id = $1 AND ($2::bigint IS NULL OR step <= $2) ORDER BY cell, seq DESC",
    )
    .bind(run.0)
    .bind(step.map(i64::from))
    .fetch_all(db)
    .await?)
}
