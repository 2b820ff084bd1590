//! Insertions into the archive.

use lyceum_core::{id::ExecutionId, recipe::InsertionStatus};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{
    Result,
    page::{Page, Window, and, by_seq, keyed_by_seq},
};

/// An insertion into the archive.
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
    /// The effect on the cell: `new` or `improve`.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "new"))]
    pub status: InsertionStatus,
    /// The value by which elites are compared.
    pub objective: f32,
}

keyed_by_seq!(Insertion);

/// Insertions into the archive of `run`, or into one of its cells.
pub async fn insertions(db: &PgPool, run: ExecutionId, cell: Option<u32>, window: &Window) -> Result<Page<Insertion>> {
    let mut query = QueryBuilder::new(
        "SELECT seq, step, cell, problem_id, status, objective FROM archive_insertions WHERE run_id = ",
    );
    query.push_bind(run.0);
    and(&mut query, "cell = ", cell.map(u32::cast_signed));
    by_seq(db, query, "seq", window).await
}
