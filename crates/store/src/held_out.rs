//! Measurements of a run's members on rows that they never learn from.

use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::HeldOutRecord;
use serde::Serialize;
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Page, Window, by_seq, keyed_by_seq};
use crate::steps::StepRef;
use crate::{Result, benchmarks};

/// A member's answers to the held-out rows in a step.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct HeldOutResult {
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The step.
    pub step: i32,
    /// The member.
    pub member_id: Uuid,
    /// The version of its weights, with which it began the step.
    pub version_id: Uuid,
    /// The place of the first held-out row in the dataset.
    pub first_row: i32,
    /// Answers to each row.
    pub n: i32,
    /// How many of them are correct, by row.
    pub correct: Vec<i32>,
}

keyed_by_seq!(HeldOutResult);

/// Writes measurements.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[HeldOutRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let mut insert =
        QueryBuilder::new("INSERT INTO held_out_results (run_id, step, member_id, version_id, first_row, n, correct) ");
    insert.push_values(records, |mut row, record| {
        let correct: Vec<i32> = record.correct.iter().map(|count| count.cast_signed()).collect();
        row.push_bind(at.run.0)
            .push_bind(at.number())
            .push_bind(record.solver.0.0)
            .push_bind(record.solver.1.0)
            .push_bind(record.first_row.cast_signed())
            .push_bind(record.n.cast_signed())
            .push_bind(correct);
    });
    insert.push(" ON CONFLICT DO NOTHING");
    insert.build().execute(&mut *tx).await?;
    benchmarks::renew_held_out(tx, at.run).await
}

/// Measurements of `run`, by age.
pub async fn page(db: &PgPool, run: ExecutionId, window: &Window) -> Result<Page<HeldOutResult>> {
    let mut query = QueryBuilder::new(
        "SELECT seq, step, member_id, version_id, first_row, n, correct FROM held_out_results WHERE run_id = ",
    );
    query.push_bind(run.0);
    by_seq(db, query, "seq", window).await
}
