//! The archive as a map: every occupied cell with the properties of its elite.

use lyceum_core::{id::ExecutionId, verify::ProblemKind};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

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
    /// Valid problems.
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
