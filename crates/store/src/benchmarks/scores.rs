//! Scores of a run's members over its steps, without counts.

use lyceum_core::{benchmark::SubjectRole, id::ExecutionId};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

/// The score of a subject on a suite at a step.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct ScoreAtStep {
    pub suite: String,
    /// Number of steps the weights have been through; none for the base.
    pub step: Option<i32>,
    /// The member; none for the base.
    pub member_id: Option<Uuid>,
    /// The subject's name.
    pub name: String,
    /// `base`, `student`, `teacher` or `member`.
    pub role: SubjectRole,
    /// Mean pass@1 over the rows, from 0 to 1.
    pub pass_at_1: f64,
    /// Its standard error over the rows.
    pub standard_error: f64,
    /// Rows measured.
    pub rows: i32,
    /// Hash of the rows' contents in order.
    pub row_set: String,
    /// Hash of what influences scores in how they were asked.
    pub decoding: String,
}

/// Scores of a run's members and of their base, the newest for each subject, suite, step, row set and decoding; by suite,
/// subject and step.
pub async fn scores_by_step(db: &PgPool, run: ExecutionId) -> Result<Vec<ScoreAtStep>> {
    Ok(sqlx::query_as(
        "SELECT DISTINCT ON (suite, coalesce(member_id::text, base_model), step, row_set, decoding)
             suite, step, member_id, name, role, pass_at_1, standard_error, rows, row_set, decoding
         FROM benchmark_results WHERE run_id = $1
         ORDER BY suite, coalesce(member_id::text, base_model), step, row_set, decoding, seq DESC",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?)
}

/// A run with measured members.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct MeasuredRun {
    /// The run.
    pub id: Uuid,
    pub name: String,
}

/// At most `limit` runs with measured members, newest first.
pub async fn measured_runs(db: &PgPool, limit: u32) -> Result<Vec<MeasuredRun>> {
    Ok(sqlx::query_as(
        "SELECT r.id, r.name FROM runs r JOIN executions e USING (id)
         WHERE EXISTS (SELECT 1 FROM benchmark_results b WHERE b.run_id = r.id AND b.member_id IS NOT NULL)
         ORDER BY e.seq DESC LIMIT $1",
    )
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?)
}
