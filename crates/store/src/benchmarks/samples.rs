//! Answers to benchmarks, and what has changed since the base, row by row.

use lyceum_core::benchmark::SubjectRole;
use lyceum_core::id::ExecutionId;
use lyceum_core::prompt::ReadingRule;
use lyceum_core::verify::Status;
use lyceum_core::work::FinishReason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use super::RunResult;
use crate::Result;
use crate::page::{Page, Window, and, by_seq, keyed_by_seq};

/// A sample of a benchmark.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
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
    /// The rule that found it, if the suite's answers are read by several: `form`, `line`, `boxed` or `literal`.
    #[schema(value_type = Option<String>)]
    pub reading: Option<ReadingRule>,
    /// `stop` or `length`.
    #[schema(value_type = String)]
    pub finish_reason: FinishReason,
    /// Its length in tokens.
    pub tokens: i32,
    /// How its execution ended.
    #[schema(value_type = String)]
    pub status: Status,
    /// Why it is incorrect.
    pub reason: String,
    /// Whether it is correct.
    pub correct: bool,
    /// Whether it is correct by only the base benchmark's tests.
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
        "SELECT seq, suite, subject, row, sample, task_id, text, solution, reading, finish_reason, tokens, status, reason, correct,
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
        "SELECT seq, suite, subject, row, sample, task_id, text, solution, reading, finish_reason, tokens, status, reason, correct,
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

/// The level or difficulty of a dataset's row `d`, if it has one.
pub(super) const LEVEL: &str = "coalesce(d.row #>> '{tags,level}', d.row #>> '{tags,difficulty}', d.row ->> 'level')";

/// A row of a suite: how often it was answered correctly before and after.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct RowChange {
    /// The row, from 0.
    pub row: i32,
    /// The dataset that it is of; none if it was deleted.
    pub dataset_id: Option<Uuid>,
    /// The task; none if the dataset was deleted.
    pub task_id: Option<String>,
    /// Its subject or, without one, the kind of its answer, such as `code_o`.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Its level or difficulty, if the suite has such.
    pub level: Option<String>,
    /// The share of right answers of the base or, where it was not measured so, of the run's first measurement; none if
    /// there is neither.
    pub before: Option<f64>,
    /// The share of right answers now, averaged over members.
    pub after: f64,
}

/// The rows of `result`, next to those of its reference.
pub async fn row_changes(db: &PgPool, result: &RunResult) -> Result<Vec<RowChange>> {
    let query = format!(
        "WITH now AS (
             SELECT * FROM run_results WHERE run_id = $1 AND suite = $2 AND row_set = $3 AND decoding = $4 AND step = $5
         ), reference AS (
             (SELECT 0 AS preference, shares_of(b.samples, b.correct) AS shares FROM now JOIN benchmark_results b
                  ON b.role = 'base' AND b.suite = now.suite AND b.row_set = now.row_set AND b.decoding = now.decoding
                      AND b.base_model = now.base_model
              ORDER BY (b.run_id = $1) IS TRUE DESC, b.seq LIMIT 1)
             UNION ALL
             (SELECT 1, first.shares FROM now JOIN run_results first USING (run_id, suite, row_set, decoding)
              WHERE first.step = coalesce(now.reference_step, 0) AND now.reference IS NOT NULL)
             ORDER BY preference LIMIT 1
         ), source AS (
             SELECT b.dataset_id FROM now JOIN benchmark_results b USING (suite, row_set, decoding, run_id, step) LIMIT 1
         )
         SELECT (place - 1)::integer AS row, d.dataset_id, d.row ->> 'task_id' AS task_id,
             coalesce(d.row #>> '{{tags,subject}}', d.row #>> '{{tags,type}}', d.row #>> '{{oracle,type}}', d.row ->> 'type') AS kind,
             {LEVEL} AS level, reference.shares[place] AS before,
             after
         FROM now
         LEFT JOIN reference ON cardinality(reference.shares) = cardinality(now.shares)
         CROSS JOIN unnest(now.shares) WITH ORDINALITY AS each (after, place)
         LEFT JOIN dataset_rows d ON d.dataset_id = (SELECT dataset_id FROM source) AND d.index = place - 1
         ORDER BY place"
    );
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query))
        .bind(result.run_id)
        .bind(&result.suite)
        .bind(&result.row_set)
        .bind(&result.decoding)
        .bind(result.step)
        .fetch_all(db)
        .await?)
}

/// An answer to a row of a suite, by a member of a run or by its base.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct RowAnswer {
    /// The evaluation that asked for it.
    pub evaluation_id: Uuid,
    /// Steps that the weights have been through; none for the base.
    pub step: Option<i32>,
    /// The member; none for the base.
    pub member_id: Option<Uuid>,
    /// Its name, or the base's.
    pub name: String,
    pub role: SubjectRole,
    #[serde(flatten)]
    #[sqlx(flatten)]
    pub sample: BenchmarkSample,
}

/// The answers of the base, and of the members that solve of `run` and its past, to these rows in the measurements that may
/// be compared with `result`; by row and step. With `step`, of members after this many steps alone.
pub async fn row_answers(
    db: &PgPool,
    run: ExecutionId,
    result: &RunResult,
    rows: &[i32],
    step: Option<i32>,
) -> Result<Vec<RowAnswer>> {
    Ok(sqlx::query_as(
        "WITH subjects AS (
             (SELECT DISTINCT ON (b.member_id, b.step) b.evaluation_id, b.suite, b.subject, b.step, b.member_id, b.name, b.role
              FROM past_of($1) past JOIN benchmark_results b USING (run_id)
              WHERE b.suite = $2 AND b.row_set = $3 AND b.decoding = $4 AND b.role IN ('student', 'member')
                  AND (past.before IS NULL OR b.step <= past.before) AND ($7::integer IS NULL OR b.step = $7)
              ORDER BY b.member_id, b.step, b.seq DESC)
             UNION ALL
             (SELECT b.evaluation_id, b.suite, b.subject, b.step, b.member_id, b.name, b.role FROM benchmark_results b
              WHERE b.role = 'base' AND b.suite = $2 AND b.row_set = $3 AND b.decoding = $4 AND b.base_model = $5
              ORDER BY (b.run_id = $1) IS TRUE DESC, b.seq LIMIT 1)
         )
         SELECT u.evaluation_id, u.step, u.member_id, u.name, u.role, s.seq, s.suite, s.subject, s.row, s.sample, s.task_id,
             s.text, s.solution, s.reading, s.finish_reason, s.tokens, s.status, s.reason, s.correct, s.base_correct
         FROM subjects u JOIN benchmark_samples s USING (evaluation_id, suite, subject)
         WHERE s.row = ANY($6)
         ORDER BY s.row, u.step NULLS FIRST, u.name, s.sample",
    )
    .bind(run.0)
    .bind(&result.suite)
    .bind(&result.row_set)
    .bind(&result.decoding)
    .bind(&result.base_model)
    .bind(rows)
    .bind(step)
    .fetch_all(db)
    .await?)
}
