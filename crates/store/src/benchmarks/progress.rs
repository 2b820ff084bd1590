//! What members and suites came to over the steps of a run, and how fast bases generated on them.

use chrono::{DateTime, Utc};
use lyceum_core::benchmark::{Score, SubjectRole};
use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgConnection, PgPool};
use uuid::Uuid;

use super::samples::LEVEL;
use crate::Result;

/// A way in which a run's members were measured: these rows, asked so often at this temperature.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct Measurement {
    pub suite: String,
    /// The name of the results, if not the suite's.
    pub name: String,
    /// Hash of the rows' contents.
    pub row_set: String,
    /// Hash of what influences scores in how they were asked.
    pub decoding: String,
    pub rows: i32,
    /// Samples per row.
    pub n: i32,
    /// Softmax temperature; 0 is greedy.
    pub temperature: f64,
    /// Finished steps when members were measured in this way, in order; empty if only the base was.
    pub steps: Vec<i32>,
    /// Whether the base was measured in this way.
    pub has_base: bool,
}

/// A subject's answers in one measurement.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct Answered {
    /// Number of steps the weights have been through; none for the base.
    pub step: Option<i32>,
    /// The member; none for the base.
    pub member_id: Option<Uuid>,
    /// The subject's name.
    pub name: String,
    /// `base`, `student`, `teacher` or `member`.
    pub role: SubjectRole,
    /// Samples by row.
    pub samples: Vec<i32>,
    /// Correct samples by row.
    pub correct: Vec<i32>,
    /// Tokens generated.
    pub completion_tokens: i64,
}

impl Answered {
    /// The counts for pass@k.
    pub fn score(&self) -> Score {
        let counts = |counts: &[i32]| counts.iter().map(|count| count.cast_unsigned()).collect();
        Score { samples: counts(&self.samples), correct: counts(&self.correct) }
    }
}

/// The results of a run, and of those from which it was forked up to the step where it begins.
const RESULTS: &str = "WITH results AS (
         SELECT b.*, coalesce((b.protocol ->> 'temperature')::double precision, 0) AS temperature
         FROM past_of($1) past JOIN benchmark_results b USING (run_id)
         WHERE b.step IS NULL OR past.before IS NULL OR b.step <= past.before
     )";

/// The ways in which a run was measured, the first used first. A fork inherits those of its past.
pub async fn measurements(db: &PgPool, run: ExecutionId) -> Result<Vec<Measurement>> {
    let select =
        "SELECT coalesce(protocol ->> 'suite', suite) AS suite, suite AS name, row_set, decoding, rows, n, temperature,
             coalesce(array_agg(DISTINCT step) FILTER (WHERE member_id IS NOT NULL), '{}') AS steps,
             bool_or(role = 'base') AS has_base
         FROM results GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY min(seq)";
    let query = sqlx::AssertSqlSafe(format!("{RESULTS} {select}"));
    Ok(sqlx::query_as(query).bind(run.0).fetch_all(db).await?)
}

/// The answers of the base and of the members at these steps, the newest for each, by step and birth.
pub async fn answered(
    db: &PgPool,
    run: ExecutionId,
    measurement: &Measurement,
    steps: &[i32],
) -> Result<Vec<Answered>> {
    let select = "SELECT * FROM (
             SELECT DISTINCT ON (coalesce(member_id::text, base_model), step)
                 seq, step, member_id, name, role, samples, correct, completion_tokens
             FROM results
             WHERE suite = $2 AND row_set = $3 AND decoding = $4 AND (member_id IS NULL OR step = ANY($5))
             ORDER BY coalesce(member_id::text, base_model), step, seq DESC
         ) newest ORDER BY step NULLS FIRST, seq";
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(format!("{RESULTS} {select}")))
        .bind(run.0)
        .bind(&measurement.name)
        .bind(&measurement.row_set)
        .bind(&measurement.decoding)
        .bind(steps)
        .fetch_all(db)
        .await?)
}

/// How fast a base, with or without an adapter, generated.
#[derive(Clone, Copy, Debug, PartialEq, FromRow)]
pub struct Pace {
    /// Whether it answered the suite that was requested.
    pub is_of_suite: bool,
    pub seconds_per_answer: f64,
    pub seconds_per_token: f64,
}

/// The pace of a base's last result on a suite; of its last one on any, if it has none there.
pub async fn pace(db: &mut PgConnection, base: &str, suite: &str) -> Result<Option<Pace>> {
    let query = sqlx::query_as(
        "SELECT suite = $2 AS is_of_suite, seconds / (n * rows) AS seconds_per_answer,
             seconds / greatest(completion_tokens, 1) AS seconds_per_token
         FROM benchmark_results WHERE base_model = $1 ORDER BY suite = $2 DESC, seq DESC LIMIT 1",
    );
    Ok(query.bind(base).bind(suite).fetch_optional(db).await?)
}

/// Whether a worker that is alive computes on something faster than a processor.
pub async fn has_accelerator(db: &mut PgConnection) -> Result<bool> {
    let query =
        sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM workers WHERE stopped_at IS NULL AND device <> 'cpu')");
    Ok(query.fetch_one(db).await?)
}

/// What was measured with a suite.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct SuiteUse {
    #[serde(skip)]
    pub suite: String,
    /// Runs with results on it.
    pub runs: i64,
    pub results: i64,
    /// When the last one was written.
    pub last: DateTime<Utc>,
}

/// The use of every suite that anything was measured with.
pub async fn use_of_suites(db: &PgPool) -> Result<Vec<SuiteUse>> {
    Ok(sqlx::query_as(
        "SELECT suite, count(DISTINCT run_id) AS runs, count(*) AS results, max(created_at) AS last
         FROM benchmark_results GROUP BY suite",
    )
    .fetch_all(db)
    .await?)
}

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

/// The share of right answers to the problems of a level, after a step.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct LevelAtStep {
    pub suite: String,
    /// Hash of the rows' contents in order.
    pub row_set: String,
    /// Hash of what influences scores in how they were asked.
    pub decoding: String,
    /// Finished steps; 0 for the base.
    pub step: i32,
    /// The level or difficulty in the rows.
    pub level: String,
    /// Mean share of right answers over the level's rows and the members that solve, from 0 to 1.
    pub pass_at_1: f64,
    /// Rows of the level.
    pub rows: i64,
}

/// Scores of a run's base and of its members by level, on suites whose rows have one.
pub async fn scores_by_level(db: &PgPool, run: ExecutionId) -> Result<Vec<LevelAtStep>> {
    let query = format!(
        "WITH own AS (
             SELECT * FROM benchmark_results WHERE run_id = $1
         ), measured AS (
             SELECT suite, row_set, decoding, step, shares FROM run_results WHERE run_id = $1
             UNION ALL
             (SELECT DISTINCT ON (suite, row_set, decoding) suite, row_set, decoding, 0, shares_of(samples, correct)
              FROM own WHERE role = 'base' ORDER BY suite, row_set, decoding, seq DESC)
         )
         SELECT m.suite, m.row_set, m.decoding, m.step, level, avg(share) AS pass_at_1, count(*) AS rows
         FROM measured m
         CROSS JOIN LATERAL (SELECT dataset_id FROM own WHERE (suite, row_set, decoding) = (m.suite, m.row_set, m.decoding) LIMIT 1) source
         CROSS JOIN unnest(m.shares) WITH ORDINALITY AS each (share, place)
         JOIN dataset_rows d ON d.dataset_id = source.dataset_id AND d.index = place - 1
         CROSS JOIN LATERAL (SELECT {LEVEL} AS level) labels
         WHERE level IS NOT NULL
         GROUP BY m.suite, m.row_set, m.decoding, m.step, level ORDER BY m.suite, m.row_set, m.decoding, level, m.step"
    );
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(run.0).fetch_all(db).await?)
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
