//! Counts of attempts at goalposts.

use chrono::{DateTime, Utc};
use lyceum_core::goalpost_map::Attempted;
use lyceum_core::id::{DatasetId, ExecutionId, ExperimentId};
use lyceum_core::recipe::GoalpostCountRecord;
use sqlx::{FromRow, PgConnection, PgExecutor, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{Result, runs};

/// How often a subject of an evaluation solved each of some problems.
#[derive(Clone, Debug, FromRow)]
pub struct GoalpostCounts {
    pub evaluation_id: Uuid,
    /// The index of the subject in it.
    pub subject: i32,
    /// The place of the first problem in the dataset.
    pub first_row: i32,
    /// The subject's name.
    pub name: String,
    /// Whether it is the untrained base in place of the checkpoint that run, member and step name.
    pub control: bool,
    pub run_id: Option<Uuid>,
    /// The member of the run.
    pub member_id: Option<Uuid>,
    /// Finished steps of the run when the member had these weights; none for a model without a run.
    pub step: Option<i32>,
    /// The frozen base.
    pub base_model: String,
    /// Attempts at each problem.
    pub n: i32,
    /// How many of them are correct, by problem.
    pub correct: Vec<i32>,
}

impl GoalpostCounts {
    /// The attempts; those of a model without a run are of step 0.
    pub fn attempted(&self) -> Attempted {
        Attempted {
            step: self.step.unwrap_or(0).cast_unsigned(),
            first_row: self.first_row.cast_unsigned(),
            n: self.n.cast_unsigned(),
            correct: self.correct.iter().map(|count| count.cast_unsigned()).collect(),
        }
    }
}

/// A dataset whose problems a run's checkpoints have attempted.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct AttemptedDataset {
    /// The dataset.
    pub id: Uuid,
    pub name: String,
    pub rows: i32,
    /// When a count of it was last written.
    pub measured_at: DateTime<Utc>,
}

const COLUMNS: &str =
    "evaluation_id, subject, first_row, name, control, run_id, member_id, step, base_model, n, correct";

/// Writes counts, but for those of runs that were deleted; returns how many are new.
pub(crate) async fn write(
    tx: &mut PgConnection,
    evaluation: ExecutionId,
    records: &[GoalpostCountRecord],
) -> Result<u64> {
    let there = runs::present(tx, records.iter().filter_map(|record| record.run)).await?;
    let mut new = 0;
    for record in records {
        if record.run.is_some_and(|run| !there.contains(&run)) {
            continue;
        }
        let correct: Vec<i32> = record.correct.iter().map(|count| count.cast_signed()).collect();
        let inserted = sqlx::query(
            "INSERT INTO goalpost_counts (evaluation_id, subject, first_row, name, control, run_id, member_id, version_id, step,
                 base_model, dataset_id, n, correct, completion_tokens, seconds)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, (SELECT id FROM datasets WHERE id = $11), $12, $13, $14, $15)
             ON CONFLICT DO NOTHING",
        )
        .bind(evaluation.0)
        .bind(record.subject.cast_signed())
        .bind(record.first_row.cast_signed())
        .bind(&record.name)
        .bind(record.control)
        .bind(record.run.map(|id| id.0))
        .bind(record.member.map(|id| id.0))
        .bind(record.version.map(|id| id.0))
        .bind(record.step.map(u32::cast_signed))
        .bind(&record.base_model)
        .bind(record.dataset.0)
        .bind(record.n.cast_signed())
        .bind(correct)
        .bind(i64::try_from(record.completion_tokens).unwrap_or(i64::MAX))
        .bind(record.seconds)
        .execute(&mut *tx)
        .await?;
        new += inserted.rows_affected();
    }
    Ok(new)
}

/// The counts of an evaluation, by subject and problem.
pub async fn of_evaluation(db: impl PgExecutor<'_>, evaluation: ExecutionId) -> Result<Vec<GoalpostCounts>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM goalpost_counts WHERE evaluation_id = "));
    query.push_bind(evaluation.0).push(" ORDER BY subject, first_row");
    Ok(query.build_query_as().fetch_all(db).await?)
}

/// The datasets whose problems a run's checkpoints have attempted, the last measured first.
pub async fn datasets_of_runs(db: &PgPool, runs: &[Uuid]) -> Result<Vec<AttemptedDataset>> {
    Ok(sqlx::query_as(
        "SELECT d.id, d.name, d.rows, max(c.created_at) AS measured_at
         FROM goalpost_counts c JOIN datasets d ON d.id = c.dataset_id
         WHERE c.run_id = ANY($1) GROUP BY d.id ORDER BY measured_at DESC, d.id",
    )
    .bind(runs)
    .fetch_all(db)
    .await?)
}

/// The counts of these runs on a dataset, in no order: of a member after a step, those of its newest evaluation.
pub async fn of_runs(db: &PgPool, runs: &[Uuid], dataset: DatasetId) -> Result<Vec<GoalpostCounts>> {
    let mut query = QueryBuilder::new(format!(
        "SELECT {COLUMNS} FROM (
             SELECT *, first_value(evaluation_id) OVER (
                 PARTITION BY run_id, control, member_id, step ORDER BY created_at DESC, evaluation_id DESC) AS newest
             FROM goalpost_counts WHERE run_id = ANY("
    ));
    query
        .push_bind(runs.to_vec())
        .push(") AND dataset_id = ")
        .push_bind(dataset.0)
        .push(") each WHERE evaluation_id = newest");
    Ok(query.build_query_as().fetch_all(db).await?)
}

/// The runs of an experiment with counts, oldest first, at most `limit`.
pub async fn runs_of_experiment(db: &PgPool, experiment: ExperimentId, limit: u32) -> Result<Vec<Uuid>> {
    Ok(sqlx::query_scalar(
        "SELECT r.id FROM runs r JOIN executions e USING (id)
         WHERE r.experiment_id = $1 AND EXISTS (SELECT 1 FROM goalpost_counts c WHERE c.run_id = r.id)
         ORDER BY e.seq LIMIT $2",
    )
    .bind(experiment.0)
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?)
}

/// The task ids of these rows of a dataset, unordered; a row without one is left out.
pub async fn task_ids(db: &PgPool, dataset: DatasetId, rows: &[i32]) -> Result<Vec<(i32, String)>> {
    Ok(sqlx::query_as(
        "SELECT index, row ->> 'task_id' FROM dataset_rows
         WHERE dataset_id = $1 AND index = ANY($2) AND row ->> 'task_id' IS NOT NULL",
    )
    .bind(dataset.0)
    .bind(rows)
    .fetch_all(db)
    .await?)
}
