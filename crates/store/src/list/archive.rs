//! The archive of a run: its map at a step, and how it came to be.

use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use super::{
    Page, Window,
    filter::and,
    window::{by_seq, keyed_by_seq},
};
use crate::Result;

/// A cell that is taken.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Cell {
    /// The cell.
    pub cell: i32,
    /// Its elite.
    pub problem_id: Uuid,
    /// The step at which the elite came in.
    pub step: i32,
    /// By what elites are compared.
    pub objective: f32,
}

/// A problem that entered the archive.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Insertion {
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The step.
    pub step: i32,
    /// The cell.
    pub cell: i32,
    /// The problem.
    pub problem_id: Uuid,
    /// What it did to its cell: `new` or `improve`.
    #[cfg_attr(feature = "schema", schema(example = "new"))]
    pub status: String,
    /// By what elites are compared.
    pub objective: f32,
}

keyed_by_seq!(Insertion);

/// The map of `run` after `step`, or as it is: each taken cell with its elite, in the order of the cells.
pub async fn archive_at(db: &PgPool, run: ExecutionId, step: Option<u32>) -> Result<Vec<Cell>> {
    Ok(sqlx::query_as(
        "SELECT DISTINCT ON (cell) cell, problem_id, step, objective FROM archive_insertions
         WHERE run_id = $1 AND ($2::bigint IS NULL OR step <= $2) ORDER BY cell, seq DESC",
    )
    .bind(run.0)
    .bind(step.map(i64::from))
    .fetch_all(db)
    .await?)
}

/// What entered the archive of `run`, or one cell of it.
pub async fn insertions(db: &PgPool, run: ExecutionId, cell: Option<u32>, window: &Window) -> Result<Page<Insertion>> {
    let mut query = QueryBuilder::new(
        "SELECT seq, step, cell, problem_id, status, objective FROM archive_insertions WHERE run_id = ",
    );
    query.push_bind(run.0);
    and(&mut query, "cell = ", cell.map(u32::cast_signed));
    by_seq(db, query, "seq", window).await
}
