//! Problems that entered the archive.

use lyceum_core::{id::ExecutionId, recipe::InsertionStatus};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{
    Result,
    page::{Page, Window, and, by_seq, keyed_by_seq},
};

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
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "new"))]
    pub status: InsertionStatus,
    /// By what elites are compared.
    pub objective: f32,
}

keyed_by_seq!(Insertion);

/// What entered the archive of `run`, or one cell of it.
pub async fn insertions(db: &PgPool, run: ExecutionId, cell: Option<u32>, window: &Window) -> Result<Page<Insertion>> {
    let mut query = QueryBuilder::new(
        "SELECT seq, step, cell, problem_id, status, objective FROM archive_insertions WHERE run_id = ",
    );
    query.push_bind(run.0);
    and(&mut query, "cell = ", cell.map(u32::cast_signed));
    by_seq(db, query, "seq", window).await
}
