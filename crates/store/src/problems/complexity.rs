//! The complexity of the valid programs of a step.

use lyceum_core::{archive::Descriptor, id::ExecutionId, verify::ProblemKind};
use sqlx::PgPool;
use uuid::Uuid;

use crate::Result;

/// Valid problems proposed in `step` whose programs are their proposers' own, by index: programs of `code_f` come from
/// the pool.
pub async fn complexities(db: &PgPool, run: ExecutionId, step: u32) -> Result<Vec<(Uuid, Descriptor)>> {
    let rows: Vec<(Uuid, f32, f32, f32, f32)> = sqlx::query_as(
        "SELECT id, ast_depth, cyclomatic, loc, variables FROM problems
         WHERE run_id = $1 AND step = $2 AND valid AND proposer_id IS NOT NULL AND type = ANY($3)
             AND ast_depth IS NOT NULL AND cyclomatic IS NOT NULL AND loc IS NOT NULL AND variables IS NOT NULL
         ORDER BY index",
    )
    .bind(run.0)
    .bind(i32::try_from(step).unwrap_or(i32::MAX))
    .bind([ProblemKind::CodeI, ProblemKind::CodeO])
    .fetch_all(db)
    .await?;
    let measured = rows
        .into_iter()
        .map(|(id, depth, cyclomatic, lines, variables)| (id, [depth, cyclomatic, lines, variables]));
    Ok(measured.collect())
}
