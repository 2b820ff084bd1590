//! Samples of benchmarks.

use lyceum_core::{id::ExecutionId, verify::Status, work::FinishReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{
    Result,
    page::{Page, Window, and, by_seq, keyed_by_seq},
};

/// A sample of a benchmark.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BenchmarkSample {
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The suite.
    pub suite: String,
    /// Index of the subject in the evaluation, from 0.
    pub subject: i32,
    /// The row of the suite, from 0.
    pub row: i32,
    /// Index of the sample within its row, from 0.
    pub sample: i32,
    /// The task.
    pub task_id: String,
    /// The model's response.
    pub text: String,
    /// The solution found in it.
    pub solution: Option<String>,
    /// `stop` or `length`.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub finish_reason: FinishReason,
    /// Its length in tokens.
    pub tokens: i32,
    /// How its execution ended.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub status: Status,
    /// Why it is incorrect.
    pub reason: String,
    /// Whether it is correct.
    pub correct: bool,
    /// Whether it is correct by the base benchmark's tests alone.
    pub base_correct: Option<bool>,
}

/// Selects samples.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct SampleFilter {
    /// On this suite.
    #[schemars(length(max = 200))]
    pub suite: Option<String>,
    /// Of the evaluation's subject with this index, from 0.
    #[schemars(range(max = 2_147_483_647))]
    pub subject: Option<u32>,
    /// Of this task.
    #[serde(rename = "task")]
    #[schemars(length(max = 500))]
    pub task_id: Option<String>,
    /// `true` for correct samples, `false` for wrong ones.
    pub correct: Option<bool>,
}

keyed_by_seq!(BenchmarkSample);

/// Samples of an evaluation that fit `filter`.
pub async fn samples(
    db: &PgPool,
    evaluation: ExecutionId,
    filter: &SampleFilter,
    window: &Window,
) -> Result<Page<BenchmarkSample>> {
    let mut query = QueryBuilder::new(
        "SELECT seq, suite, subject, row, sample, task_id, text, solution, finish_reason, tokens, status, reason, correct,
             base_correct FROM benchmark_samples WHERE evaluation_id = ",
    );
    query.push_bind(evaluation.0);
    and(&mut query, "suite = ", filter.suite.clone());
    and(&mut query, "subject = ", filter.subject.map(u32::cast_signed));
    and(&mut query, "task_id = ", filter.task_id.clone());
    and(&mut query, "correct = ", filter.correct);
    by_seq(db, query, "seq", window).await
}

/// The samples of one subject on one suite, by row and sample.
pub async fn samples_of_subject(
    db: &PgPool,
    evaluation: ExecutionId,
    suite: &str,
    subject: u32,
) -> Result<Vec<BenchmarkSample>> {
    Ok(sqlx::query_as(
        "SELECT seq, suite, subject, row, sample, task_id, text, solution, finish_reason, tokens, status, reason, correct,
             base_correct FROM benchmark_samples WHERE evaluation_id = $1 AND suite = $2 AND subject = $3 ORDER BY row, sample",
    )
    .bind(evaluation.0)
    .bind(suite)
    .bind(subject.cast_signed())
    .fetch_all(db)
    .await?)
}

/// The share of correct samples in each repeat: sample 0 of every row, sample 1, and so on.
#[derive(Clone, Debug, FromRow)]
pub struct Repeat {
    pub evaluation_id: Uuid,
    pub suite: String,
    pub subject: i32,
    /// Share of correct rows, from 0 to 1.
    pub share: f64,
}

/// The repeats of all results of these evaluations.
pub async fn repeats(db: &PgPool, evaluations: &[Uuid]) -> Result<Vec<Repeat>> {
    Ok(sqlx::query_as(
        "SELECT evaluation_id, suite, subject, avg(correct::int)::float8 AS share FROM benchmark_samples
         WHERE evaluation_id = ANY($1) GROUP BY evaluation_id, suite, subject, sample ORDER BY sample",
    )
    .bind(evaluations)
    .fetch_all(db)
    .await?)
}
