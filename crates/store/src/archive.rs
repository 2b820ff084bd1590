//! The archive of a run: its map at a step, and how it came to be.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::{ArchiveInsertionRecord, InsertionStatus};
use lyceum_core::verify::ProblemKind;
use serde::Serialize;
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Result;
use crate::page::{Page, Window, and, by_seq, keyed_by_seq};
use crate::steps::StepRef;

/// An occupied cell.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
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

/// An insertion into the archive.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
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
    #[schema(value_type = String, example = "new")]
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

/// An occupied cell.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct MapCell {
    pub cell: i32,
    /// Its elite.
    pub problem_id: Uuid,
    /// The run that has the elite: that from which this one was forked, for what it took over.
    pub problem_run_id: Uuid,
    /// The elite's type.
    #[serde(rename = "type")]
    #[sqlx(rename = "type")]
    pub problem_type: ProblemKind,
    /// The step in which the elite was inserted.
    pub step: i32,
    /// The value by which elites are compared.
    pub objective: f32,
    /// Share of the attempts that solved the elite.
    pub solve_rate: Option<f32>,
    /// Nesting depth of its syntax tree.
    pub ast_depth: Option<f32>,
    /// Cyclomatic complexity.
    pub cyclomatic: Option<f32>,
    /// Lines of code.
    pub loc: Option<f32>,
    /// Distinct variables.
    pub variables: Option<f32>,
}

/// Insertions over some steps.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct Growth {
    /// The first step.
    pub step: i32,
    /// Insertions into empty cells.
    pub new: i64,
    /// Insertions that replaced a worse elite.
    pub improved: i64,
}

/// The map of `run` after `step`, or now, by cell.
pub async fn map_at(db: &PgPool, run: ExecutionId, step: Option<u32>) -> Result<Vec<MapCell>> {
    Ok(sqlx::query_as(
        "SELECT c.cell, c.problem_id, p.run_id AS problem_run_id, p.type, c.step, c.objective, p.solve_rate, p.ast_depth, p.cyclomatic, p.loc, p.variables
         FROM (SELECT DISTINCT ON (cell) cell, problem_id, step, objective FROM archive_insertions
               WHERE run_id = $1 AND ($2::int IS NULL OR step <= $2) ORDER BY cell, seq DESC) c
         JOIN problems p ON p.id = c.problem_id ORDER BY c.cell",
    )
    .bind(run.0)
    .bind(step.map(u32::cast_signed))
    .fetch_all(db)
    .await?)
}

/// Insertions into the archive of `run`, in groups of `width` steps.
pub async fn growth(db: &PgPool, run: ExecutionId, width: u32) -> Result<Vec<Growth>> {
    Ok(sqlx::query_as(
        "SELECT step / $2 * $2 AS step, count(*) FILTER (WHERE status = 'new') AS new,
             count(*) FILTER (WHERE status = 'improve') AS improved
         FROM archive_insertions WHERE run_id = $1 GROUP BY 1 ORDER BY 1",
    )
    .bind(run.0)
    .bind(width.max(1).cast_signed())
    .fetch_all(db)
    .await?)
}

/// A run with a filled cell.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct Archived {
    pub id: Uuid,
    pub name: String,
    pub recipe: String,
    /// Finished steps.
    pub step: i32,
    /// Filled cells.
    pub cells: i64,
    pub valid_problems: i64,
}

/// The newest runs with a filled cell.
pub async fn archived(db: &PgPool, limit: u32) -> Result<Vec<Archived>> {
    Ok(sqlx::query_as(
        "SELECT e.id, r.name, e.recipe, e.step, r.cells, r.valid_problems FROM executions e JOIN runs r ON r.id = e.id
         WHERE r.cells > 0 ORDER BY e.seq DESC LIMIT $1",
    )
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?)
}

/// Rows per statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 5000;

/// Writes insertions and adds newly occupied cells to the run's count.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[ArchiveInsertionRecord]) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let mut insert = QueryBuilder::new(
            "WITH inserted AS (INSERT INTO archive_insertions (run_id, step, cell, problem_id, status, objective) ",
        );
        insert.push_values(batch, |mut row, record| {
            row.push_bind(at.run.0)
                .push_bind(at.number())
                .push_bind(record.cell.cast_signed())
                .push_bind(record.problem.0)
                .push_bind(record.status)
                .push_bind(record.objective);
        });
        insert.push(
            " ON CONFLICT DO NOTHING RETURNING status)
             UPDATE runs SET cells = cells + (SELECT count(*) FROM inserted WHERE status = 'new') WHERE id = ",
        );
        insert.push_bind(at.run.0);
        insert.build().execute(&mut *tx).await?;
    }
    Ok(())
}
