//! Results of benchmarks.

use chrono::{DateTime, Utc};
use lyceum_core::benchmark::{Score, SubjectRole};
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::recipe::{BenchmarkResultRecord, BenchmarkSampleRecord};
use lyceum_core::statistics::Interval;
use lyceum_core::verdict::{Against, Comparison};
use lyceum_core::work::FinishReason;
use serde::Serialize;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use super::renew::renew;
use crate::page::{Page, Window, and, by_seq, keyed_by_seq};
use crate::text::storable;
use crate::{Result, runs};

/// The result of a subject on a suite.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct BenchmarkResult {
    /// The result.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The evaluation that measured it.
    pub evaluation_id: Uuid,
    /// The suite, or the name the evaluation gave its rows; then `protocol.suite` is the suite.
    pub suite: String,
    /// Index of the subject in the evaluation, from 0.
    pub subject: i32,
    /// The subject's name.
    pub name: String,
    /// `base`, `baseline`, `student`, `teacher` or `member`.
    #[schema(value_type = String, example = "student")]
    pub role: SubjectRole,
    /// The subject's run.
    pub run_id: Option<Uuid>,
    /// The member of that run.
    pub member_id: Option<Uuid>,
    /// Its exact weights.
    pub version_id: Option<Uuid>,
    /// Number of steps the weights have been through; none for the base.
    pub step: Option<i32>,
    /// The frozen base.
    pub base_model: String,
    /// The dataset; none once it was deleted.
    pub dataset_id: Option<Uuid>,
    /// Hash of the rows' contents in order. Only results that agree in `suite`, `row_set` and `decoding` may be compared.
    pub row_set: String,
    /// Hash of what influences scores in the protocol.
    pub decoding: String,
    /// How the model was asked: prompt style and its hash, hash of the chat template, decoding, token limit, samples,
    /// seed.
    #[schema(value_type = Object)]
    pub protocol: serde_json::Value,
    /// Samples per row.
    pub n: i32,
    /// Rows measured.
    pub rows: i32,
    /// Samples by row.
    #[serde(skip)]
    #[schema(ignore)]
    pub samples: Vec<i32>,
    /// Correct samples by row.
    #[serde(skip)]
    #[schema(ignore)]
    pub correct: Vec<i32>,
    /// Correct samples by row, by only the base benchmark's tests (EvalPlus).
    #[serde(skip)]
    #[schema(ignore)]
    pub base_correct: Option<Vec<i32>>,
    /// Mean pass@1 over the rows, from 0 to 1.
    pub pass_at_1: f64,
    /// Its standard error over the rows.
    pub standard_error: f64,
    /// pass@1 of the base on the same rows with the same decoding; none if it was not measured so.
    pub reference: Option<f64>,
    /// The interval of 95 % of `pass_at_1 - reference`, paired by row (docs/STATISTICS.md).
    pub difference_low: Option<f64>,
    /// Its upper end.
    pub difference_high: Option<f64>,
    /// Tokens generated.
    pub completion_tokens: i64,
    /// Answers that ended at the limit of tokens. None if an earlier release measured it while this one was installed.
    pub truncated: Option<i64>,
    /// Answers in which no solution was found. None if an earlier release measured it while this one was installed.
    pub without_solution: Option<i64>,
    /// Samples whose solution another rule than the form found; none if the suite is read by one rule.
    pub other_rules: Option<i64>,
    /// Mean surprisal of a token under the distribution it was drawn from, in nats: an estimate of that distribution's
    /// entropy, which depends on the temperature. None if it was measured by an earlier release.
    pub entropy: Option<f64>,
    /// Time spent on generation, in seconds, summed over its items.
    pub seconds: f64,
    /// When it was measured.
    pub created_at: DateTime<Utc>,
}

impl BenchmarkResult {
    /// The share of answers that ended at the limit of tokens, if it is above 5 %: then the score says who finishes as well.
    pub fn many_cut(&self) -> Option<f64> {
        let share = self.truncated? as f64 / (f64::from(self.rows) * f64::from(self.n));
        (share > 0.05).then_some(share)
    }

    /// The suite's own name; `suite` may be a name given by the evaluation.
    pub fn suite_name(&self) -> &str {
        self.protocol["suite"].as_str().unwrap_or(&self.suite)
    }

    /// The difference from the base.
    pub fn comparison(&self) -> Option<Comparison> {
        Some(Comparison {
            against: Against::Base,
            step: self.step.unwrap_or_default(),
            value: self.pass_at_1,
            reference: self.reference?,
            difference: Interval { low: self.difference_low?, high: self.difference_high? },
            n: self.rows.unsigned_abs().into(),
        })
    }

    /// The counts for pass@k.
    pub fn score(&self) -> Score {
        Score { samples: unsigned(&self.samples), correct: unsigned(&self.correct) }
    }

    /// The counts by only the base benchmark's tests, if counted separately.
    pub fn base_score(&self) -> Option<Score> {
        self.base_correct
            .as_deref()
            .map(|correct| Score { samples: unsigned(&self.samples), correct: unsigned(correct) })
    }
}

fn unsigned(counts: &[i32]) -> Vec<u32> {
    counts.iter().map(|count| count.cast_unsigned()).collect()
}

/// Selects results.
#[derive(Clone, Debug, Default)]
pub struct BenchmarkFilter {
    /// Of this run's members and base.
    pub run: Option<ExecutionId>,
    pub evaluation: Option<ExecutionId>,
    pub suite: Option<String>,
    pub member: Option<MemberId>,
    /// Of weights after this many steps.
    pub step: Option<u32>,
    /// Of this subject of its evaluation.
    pub subject: Option<u32>,
}

keyed_by_seq!(BenchmarkResult);

const RESULTS: &str = "SELECT id, seq, evaluation_id, suite, subject, name, role, run_id, member_id, version_id, step, base_model,
    dataset_id, row_set, decoding, protocol, n, rows, samples, correct, base_correct, pass_at_1, standard_error, reference,
    difference_low, difference_high, completion_tokens, truncated, without_solution, other_rules, entropy, seconds, created_at FROM benchmark_results";

/// Results that fit `filter`.
pub async fn results(db: &PgPool, filter: &BenchmarkFilter, window: &Window) -> Result<Page<BenchmarkResult>> {
    let mut query = QueryBuilder::new(RESULTS);
    query.push(" WHERE true");
    and(&mut query, "run_id = ", filter.run.map(|id| id.0));
    and(&mut query, "evaluation_id = ", filter.evaluation.map(|id| id.0));
    and(&mut query, "suite = ", filter.suite.clone());
    and(&mut query, "member_id = ", filter.member.map(|id| id.0));
    and(&mut query, "step = ", filter.step.map(u32::cast_signed));
    and(&mut query, "subject = ", filter.subject.map(u32::cast_signed));
    by_seq(db, query, "seq", window).await
}

/// The best result of each member and each base on a suite across all runs, those first that are on the row set and in the
/// decoding in which most were measured, best first. Others follow by row set: what was measured differently is not compared.
pub async fn leaderboard(db: &PgPool, suite: &str, limit: u32) -> Result<Vec<BenchmarkResult>> {
    // Found without their counts by row, which are nearly all of a result.
    let query = format!(
        "WITH of_suite AS (
             SELECT id, seq, rows, row_set, decoding, pass_at_1, coalesce(member_id::text, base_model) AS subject
             FROM benchmark_results WHERE suite = $1
         ), ways AS (
             SELECT row_set, decoding, count(DISTINCT subject) AS subjects FROM of_suite GROUP BY row_set, decoding
         ), best AS (
             SELECT DISTINCT ON (subject) * FROM of_suite JOIN ways USING (row_set, decoding)
             ORDER BY subject, subjects DESC, rows DESC, row_set, decoding, pass_at_1 DESC, seq
         ), first AS (
             SELECT id, row_number() OVER (ORDER BY subjects DESC, rows DESC, row_set, decoding, pass_at_1 DESC, seq) AS place
             FROM best ORDER BY place LIMIT $2
         )
         {RESULTS} JOIN first USING (id) ORDER BY place"
    );
    let query = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(suite);
    Ok(query.bind(i64::from(limit)).fetch_all(db).await?)
}

pub async fn measured_suites(db: &PgPool) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar("SELECT DISTINCT suite FROM benchmark_results ORDER BY suite").fetch_all(db).await?)
}

/// The results of a run's population at a step, or at the newest measured step, and of its base; the newest for each
/// subject and suite. Of a suite that was measured in several ways there, the one on the most rows counts, and what was
/// measured otherwise is left out.
pub async fn population_results(db: &PgPool, run: ExecutionId, step: Option<u32>) -> Result<Vec<BenchmarkResult>> {
    let query = format!(
        "WITH every AS ({RESULTS} WHERE run_id = $1),
         own AS (SELECT * FROM every WHERE role = 'base' OR step = coalesce($2, (SELECT max(step) FROM every))),
         ways AS (SELECT DISTINCT ON (suite) suite, row_set, decoding FROM own
                  ORDER BY suite, role = 'base', rows DESC, n = 1 DESC, seq DESC)
         SELECT * FROM (
             SELECT DISTINCT ON (suite, coalesce(member_id::text, base_model)) own.* FROM own
             JOIN ways USING (suite, row_set) WHERE own.decoding = ways.decoding OR role = 'base'
             ORDER BY suite, coalesce(member_id::text, base_model), own.decoding = ways.decoding DESC, seq DESC
         ) newest ORDER BY subject, seq"
    );
    let query = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(run.0);
    Ok(query.bind(step.map(u32::cast_signed)).fetch_all(db).await?)
}

/// The results of a run's members on a suite, by step, on the rows and in the way in which they were measured at most steps.
pub async fn results_by_step(db: &PgPool, run: ExecutionId, suite: &str) -> Result<Vec<BenchmarkResult>> {
    let query = format!(
        "{RESULTS} WHERE run_id = $1 AND suite = $2 AND step IS NOT NULL AND (row_set, decoding) = (
             SELECT row_set, decoding FROM benchmark_results WHERE run_id = $1 AND suite = $2 AND step IS NOT NULL
             GROUP BY row_set, decoding ORDER BY count(DISTINCT step) DESC, max(rows) DESC, row_set, decoding LIMIT 1)
         ORDER BY step, seq"
    );
    let query = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(run.0);
    Ok(query.bind(suite).fetch_all(db).await?)
}

/// Rows per statement; Postgres takes at most 65,535 parameters.
const BATCH: usize = 2000;

/// Writes results, whose samples are there, but for those of runs that were deleted; returns how many are new.
pub(crate) async fn write_results(
    tx: &mut PgConnection,
    evaluation: ExecutionId,
    records: &[BenchmarkResultRecord],
) -> Result<u64> {
    let there = runs::present(tx, records.iter().filter_map(|record| record.run)).await?;
    let mut new = 0;
    for record in records {
        if record.run.is_some_and(|run| !there.contains(&run)) {
            continue;
        }
        let first = record.score.pass_at_k(1);
        let integers = |counts: &[u32]| counts.iter().map(|count| count.cast_signed()).collect::<Vec<i32>>();
        let inserted = sqlx::query(
            "INSERT INTO benchmark_results (id, evaluation_id, suite, subject, name, role, run_id, member_id, version_id, step,
                 base_model, dataset_id, protocol, n, rows, samples, correct, base_correct, pass_at_1, standard_error,
                 completion_tokens, seconds, entropy, row_set, decoding, truncated, without_solution, other_rules)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, (SELECT id FROM datasets WHERE id = $12), $13, $14, $15,
                 $16, $17, $18, $19, $20, $21, $22, $23, '', '',
                 (SELECT count(*) FROM benchmark_samples
                  WHERE evaluation_id = $2 AND suite = $3 AND subject = $4 AND finish_reason = 'length'),
                 (SELECT count(*) FROM benchmark_samples
                  WHERE evaluation_id = $2 AND suite = $3 AND subject = $4 AND solution IS NULL),
                 (SELECT CASE WHEN count(reading) > 0 THEN count(*) FILTER (WHERE reading <> 'form') END
                  FROM benchmark_samples WHERE evaluation_id = $2 AND suite = $3 AND subject = $4))
             ON CONFLICT DO NOTHING",
        )
        .bind(Uuid::new_v5(
            &evaluation.0,
            format!("result/{}/{}", record.suite, record.subject).as_bytes(),
        ))
        .bind(evaluation.0)
        .bind(&record.suite)
        .bind(record.subject.cast_signed())
        .bind(&record.name)
        .bind(record.role)
        .bind(record.run.map(|id| id.0))
        .bind(record.member.map(|id| id.0))
        .bind(record.version.map(|id| id.0))
        .bind(record.step.map(u32::cast_signed))
        .bind(&record.base_model.name)
        .bind(record.dataset.0)
        .bind(Json(&record.protocol))
        .bind(record.n.cast_signed())
        .bind(i32::try_from(record.score.samples.len()).unwrap_or(i32::MAX))
        .bind(integers(&record.score.samples))
        .bind(integers(&record.score.correct))
        .bind(record.base.as_ref().map(|base| integers(&base.correct)))
        .bind(first.map_or(0.0, |spread| spread.mean))
        .bind(first.map_or(0.0, |spread| spread.standard_error))
        .bind(i64::try_from(record.completion_tokens).unwrap_or(i64::MAX))
        .bind(record.seconds)
        .bind(record.entropy)
        .execute(&mut *tx)
        .await?;
        new += inserted.rows_affected();
    }
    if new > 0 {
        renew(tx, evaluation).await?;
    }
    Ok(new)
}

pub(crate) async fn write_samples(
    tx: &mut PgConnection,
    evaluation: ExecutionId,
    records: &[BenchmarkSampleRecord],
) -> Result<()> {
    for batch in records.chunks(BATCH) {
        let mut insert = QueryBuilder::new(
            "INSERT INTO benchmark_samples (evaluation_id, suite, subject, row, sample, task_id, text, solution, reading,
                 finish_reason, tokens, status, reason, correct, base_correct) ",
        );
        insert.push_values(batch, |mut row, record| {
            let (sample, graded) = (&record.sample, &record.graded);
            row.push_bind(evaluation.0)
                .push_bind(&record.suite)
                .push_bind(record.subject.cast_signed())
                .push_bind(sample.row.cast_signed())
                .push_bind(sample.sample.cast_signed())
                .push_bind(storable(&record.task_id))
                .push_bind(storable(&sample.text))
                .push_bind(sample.solution.as_deref().map(storable))
                .push_bind(sample.reading)
                .push_bind(match sample.finish_reason {
                    FinishReason::Stop => "stop",
                    FinishReason::Length => "length",
                })
                .push_bind(sample.tokens.cast_signed())
                .push_bind(graded.status)
                .push_bind(storable(&graded.reason))
                .push_bind(graded.correct)
                .push_bind(graded.base_correct);
        });
        insert.push(" ON CONFLICT DO NOTHING");
        insert.build().execute(&mut *tx).await?;
    }
    Ok(())
}
