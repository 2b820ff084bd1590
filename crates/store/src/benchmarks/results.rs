//! Results of benchmarks.

use chrono::{DateTime, Utc};
use lyceum_core::{
    benchmark::{Score, SubjectRole},
    id::{ExecutionId, MemberId},
};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{
    Result,
    page::{Page, Window, and, by_seq, keyed_by_seq},
};

/// The result of a subject on a suite.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "student"))]
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
    /// How the model was asked: prompt style and its hash, hash of the chat template, decoding, token limit, samples,
    /// seed.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub protocol: serde_json::Value,
    /// Samples per row.
    pub n: i32,
    /// Rows measured.
    pub rows: i32,
    /// Samples by row.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub samples: Vec<i32>,
    /// Correct samples by row.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub correct: Vec<i32>,
    /// Correct samples by row, by the base benchmark's tests alone (EvalPlus).
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub base_correct: Option<Vec<i32>>,
    /// Mean pass@1 over the rows, from 0 to 1.
    pub pass_at_1: f64,
    /// Its standard error over the rows.
    pub standard_error: f64,
    /// Tokens generated.
    pub completion_tokens: i64,
    /// Mean surprisal of a token under the distribution it was drawn from, in nats: an estimate of that distribution's
    /// entropy, which depends on the temperature. None if it was measured by an earlier release.
    pub entropy: Option<f64>,
    /// Time spent on generation, in seconds, summed over its items.
    pub seconds: f64,
    /// When it was measured.
    pub created_at: DateTime<Utc>,
}

impl BenchmarkResult {
    /// The suite's own name; `suite` may be a name given by the evaluation.
    pub fn suite_name(&self) -> &str {
        self.protocol["suite"].as_str().unwrap_or(&self.suite)
    }

    /// The counts for pass@k.
    pub fn score(&self) -> Score {
        Score {
            samples: unsigned(&self.samples),
            correct: unsigned(&self.correct),
        }
    }

    /// The counts by the base benchmark's tests alone, if counted separately.
    pub fn base_score(&self) -> Option<Score> {
        self.base_correct.as_deref().map(|correct| Score {
            samples: unsigned(&self.samples),
            correct: unsigned(correct),
        })
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
    /// Of this evaluation.
    pub evaluation: Option<ExecutionId>,
    /// On this suite.
    pub suite: Option<String>,
    /// Of this member.
    pub member: Option<MemberId>,
    /// Of weights after this many steps.
    pub step: Option<u32>,
    /// Of this subject of its evaluation.
    pub subject: Option<u32>,
}

keyed_by_seq!(BenchmarkResult);

const RESULTS: &str = "SELECT id, seq, evaluation_id, suite, subject, name, role, run_id, member_id, version_id, step, base_model,
    dataset_id, protocol, n, rows, samples, correct, base_correct, pass_at_1, standard_error, completion_tokens, entropy, seconds,
    created_at FROM benchmark_results";

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

/// The best result of each member and each base on a suite across all runs, best first. Results on fewer rows than the
/// most measured come after the others, since a few rows are easily all solved.
pub async fn leaderboard(db: &PgPool, suite: &str, limit: u32) -> Result<Vec<BenchmarkResult>> {
    // Found without their counts by row, which are nearly all of a result.
    let mut query = QueryBuilder::new(RESULTS);
    query
        .push(
            " JOIN (SELECT id, rows < max(rows) OVER () AS partial FROM (
                 SELECT DISTINCT ON (coalesce(member_id::text, base_model)) id, rows, pass_at_1, seq FROM benchmark_results
                 WHERE suite = ",
        )
        .push_bind(suite);
    query.push(
        " ORDER BY coalesce(member_id::text, base_model), rows DESC, pass_at_1 DESC, seq) each
             ORDER BY partial, pass_at_1 DESC, seq LIMIT ",
    );
    query.push_bind(i64::from(limit));
    query.push(") best USING (id) ORDER BY partial, pass_at_1 DESC, seq");
    Ok(query.build_query_as().fetch_all(db).await?)
}

/// Suites with results.
pub async fn measured_suites(db: &PgPool) -> Result<Vec<String>> {
    Ok(
        sqlx::query_scalar("SELECT DISTINCT suite FROM benchmark_results ORDER BY suite")
            .fetch_all(db)
            .await?,
    )
}

/// The results of a run's population at a step, or at the newest measured step, and of its base; the newest for each
/// subject and suite. Of a suite that was measured on several numbers of rows there, the largest measurement counts, and
/// what was measured otherwise is left out.
pub async fn population_results(db: &PgPool, run: ExecutionId, step: Option<u32>) -> Result<Vec<BenchmarkResult>> {
    let query = format!(
        "WITH every AS ({RESULTS} WHERE run_id = $1),
         own AS (SELECT *, max(rows) FILTER (WHERE role <> 'base') OVER (PARTITION BY suite) AS most FROM every
                 WHERE role = 'base' OR step = coalesce($2, (SELECT max(step) FROM every)))
         SELECT * FROM (
             SELECT DISTINCT ON (suite, coalesce(member_id::text, base_model)) * FROM own WHERE rows = coalesce(most, rows)
             ORDER BY suite, coalesce(member_id::text, base_model), seq DESC
         ) newest ORDER BY subject, seq"
    );
    let query = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(run.0);
    Ok(query.bind(step.map(u32::cast_signed)).fetch_all(db).await?)
}

/// The results of the members that solve in each of these runs, when they were last measured on a suite: the newest for
/// each member and suite, of the largest measurement then.
pub async fn latest_results(db: &PgPool, runs: &[ExecutionId]) -> Result<Vec<BenchmarkResult>> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.0).collect();
    let query = format!(
        "WITH own AS (SELECT * FROM ({RESULTS} WHERE run_id = ANY($1)) every
                      WHERE role IN ('student', 'member') AND step IS NOT NULL),
         latest AS (SELECT DISTINCT ON (run_id, suite) run_id, suite, step, rows FROM own
                    ORDER BY run_id, suite, step DESC, rows DESC)
         SELECT DISTINCT ON (run_id, suite, member_id) own.* FROM own JOIN latest USING (run_id, suite, step, rows)
         ORDER BY run_id, suite, member_id, seq DESC"
    );
    let query = sqlx::query_as(sqlx::AssertSqlSafe(query));
    Ok(query.bind(ids).fetch_all(db).await?)
}

/// All results of a run's members on a suite, by step.
pub async fn results_by_step(db: &PgPool, run: ExecutionId, suite: &str) -> Result<Vec<BenchmarkResult>> {
    let mut query = QueryBuilder::new(RESULTS);
    query
        .push(" WHERE run_id = ")
        .push_bind(run.0)
        .push(" AND suite = ")
        .push_bind(suite);
    query.push(" AND step IS NOT NULL ORDER BY step, seq");
    Ok(query.build_query_as().fetch_all(db).await?)
}
