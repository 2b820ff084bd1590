//! The run and step of an attempt.

use lyceum_core::id::{AttemptId, ExecutionId, ProblemId};
use sqlx::PgPool;
use uuid::Uuid;

use crate::{Result, StoreError};

/// Where an attempt was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptPlace {
    pub run: ExecutionId,
    pub step: u32,
    pub problem: ProblemId,
}

/// The place of an attempt.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn place(db: &PgPool, id: AttemptId) -> Result<AttemptPlace> {
    let row: Option<(Uuid, i32, Uuid)> = sqlx::query_as("SELECT run_id, step, problem_id FROM attempts WHERE id = $1")
        .bind(id.0)
        .fetch_optional(db)
        .await?;
    let (run, step, problem) = row.ok_or_else(|| StoreError::not_found("attempt", id))?;
    Ok(AttemptPlace {
        run: ExecutionId(run),
        step: step.cast_unsigned(),
        problem: ProblemId(problem),
    })
}
