//! Results of runs: the mean over the members that solve, on a suite's row set with a decoding, and its difference from the
//! base on exactly these rows.

use lyceum_core::id::ExecutionId;
use lyceum_core::statistics::Interval;
use lyceum_core::verdict::{Against, Comparison};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgPool};
use std::collections::BTreeMap;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Result;

/// What stands for a suite in results on the rows that a run holds out of its own dataset.
pub const HELD_OUT_ROWS: &str = "held-out rows";

/// The result of a run's members that solve, after a step. Only results that agree in `suite`, `row_set` and `decoding` may
/// be compared, sorted or averaged.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize, Deserialize, ToSchema)]
pub struct RunResult {
    /// The run that was measured: for what a fork inherits, the one it comes from.
    pub run_id: Uuid,
    /// The suite, or the name that the evaluation gave its rows; `held-out rows` for those of the run's own dataset.
    pub suite: String,
    /// The suite itself.
    pub of_suite: String,
    /// Hash of the rows' contents in order.
    pub row_set: String,
    /// Hash of what influences scores in how the rows were asked: prompts, chat template, decoding, samples per row.
    pub decoding: String,
    /// Finished steps.
    pub step: i32,
    /// The frozen base.
    pub base_model: String,
    /// Softmax temperature, 0 for greedy answers; none for `held-out rows`, which are asked as the config says.
    pub temperature: Option<f64>,
    /// Samples per row.
    pub n: i32,
    /// Rows.
    pub rows: i32,
    /// Members, over which the result is averaged.
    pub members: i32,
    /// Mean pass@1 over members and rows, from 0 to 1.
    pub pass_at_1: f64,
    /// Its standard error over rows.
    pub standard_error: f64,
    /// pass@1 of the base on the same rows with the same decoding; if it was not measured so, of the run's first such
    /// measurement. None if there is neither.
    pub reference: Option<f64>,
    /// The step of that first measurement; none if the reference is the base.
    pub reference_step: Option<i32>,
    /// The interval of 95 % of `pass_at_1 - reference`, paired by row (docs/STATISTICS.md).
    pub difference_low: Option<f64>,
    /// Its upper end.
    pub difference_high: Option<f64>,
}

impl RunResult {
    /// The difference from the reference.
    pub fn comparison(&self) -> Option<Comparison> {
        Some(Comparison {
            against: self.reference_step.map_or(Against::Base, Against::Step),
            step: self.step,
            value: self.pass_at_1,
            reference: self.reference?,
            difference: Interval { low: self.difference_low?, high: self.difference_high? },
            n: self.rows.unsigned_abs().into(),
        })
    }

    /// What orders results by how much they say of the state of a run: those of later steps first, then single answers,
    /// then those on more rows.
    pub fn weight(&self) -> impl Ord {
        (self.step, self.n == 1, self.rows)
    }
}

/// The columns of a [`RunResult`] of the table `x`.
pub(crate) const RESULT_COLUMNS: &str =
    "x.run_id, x.suite, x.of_suite, x.row_set, x.decoding, x.step, x.base_model, x.temperature, x.n, x.rows, x.members,
    x.pass_at_1, x.standard_error, x.reference, x.reference_step, x.difference_low, x.difference_high";

/// The results of a run and of its past, by suite, row set, decoding and step. What a fork has copied counts once.
pub async fn run_results(db: &PgPool, run: ExecutionId) -> Result<Vec<RunResult>> {
    let query = format!(
        "SELECT DISTINCT ON (suite, row_set, decoding, step) {RESULT_COLUMNS} FROM past_of($1) past JOIN run_results x USING (run_id)
         WHERE past.before IS NULL OR step <= past.before ORDER BY suite, row_set, decoding, step, past.before DESC"
    );
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(run.0).fetch_all(db).await?)
}

/// Of a run's results on each suite, those on the rows and in the way in which it was measured at most steps.
pub fn usual_results(results: &[RunResult]) -> Vec<&RunResult> {
    let way = |result: &RunResult| (result.suite.clone(), result.row_set.clone(), result.decoding.clone());
    let mut ways: BTreeMap<_, (usize, i32)> = BTreeMap::new();
    for result in results {
        let (steps, rows) = ways.entry(way(result)).or_default();
        (*steps, *rows) = (*steps + 1, result.rows);
    }
    let usual = |suite: &str| {
        let of_suite = ways.iter().filter(|((name, ..), _)| name == suite);
        of_suite.max_by_key(|(_, weight)| **weight).map(|(way, _)| way.clone())
    };
    let of_usual = results.iter().filter(|result| usual(&result.suite) == Some(way(result)));
    of_usual.collect()
}

/// A run's latest result on a suite, with its outcomes by row.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct LatestResult {
    /// The run that was asked for.
    pub of_run: Uuid,
    #[sqlx(flatten)]
    pub result: RunResult,
    /// Mean over members of the share of right answers, by row.
    pub shares: Vec<f64>,
}

/// The result on every suite that says most of the state of each of these runs.
pub async fn latest_results(db: &PgPool, runs: &[ExecutionId]) -> Result<Vec<LatestResult>> {
    let ids: Vec<Uuid> = runs.iter().map(|run| run.0).collect();
    let query = format!(
        "SELECT DISTINCT ON (of_run, suite) of_run, shares, {RESULT_COLUMNS}
         FROM unnest($1) AS of_run, LATERAL past_of(of_run) past JOIN run_results x USING (run_id)
         WHERE past.before IS NULL OR step <= past.before
         ORDER BY of_run, suite, step DESC, n = 1 DESC, rows DESC, row_set, decoding"
    );
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(ids).fetch_all(db).await?)
}

/// A run and its latest result on a suite.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct RankedRun {
    /// The run's name.
    pub name: String,
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub result: RunResult,
}

/// The latest results of runs on a suite that can be compared with their bases, those first that are on the row set and in the
/// decoding in which most were measured, the largest difference first. What a fork inherits counts only for its origin.
pub async fn run_leaderboard(db: &PgPool, suite: &str, limit: u32) -> Result<Vec<RankedRun>> {
    let query = format!(
        "SELECT r.name, {RESULT_COLUMNS}
         FROM latest_results l JOIN runs r ON r.id = l.run_id
         JOIN run_results x ON (x.run_id, x.suite, x.row_set, x.decoding, x.step) = (l.run_id, l.suite, l.row_set, l.decoding, l.step)
         WHERE l.suite = $1 AND l.of_run = l.run_id AND x.reference IS NOT NULL AND x.reference_step IS NULL
         ORDER BY count(*) OVER (PARTITION BY x.row_set, x.decoding) DESC, x.rows DESC, x.row_set, x.decoding,
             x.pass_at_1 - x.reference DESC, x.run_id
         LIMIT $2"
    );
    let query = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(suite);
    Ok(query.bind(i64::from(limit)).fetch_all(db).await?)
}
