//! What many runs came to: the result by which each is judged, what its verdict is computed from, and its cost.

use serde::Serialize;
use sqlx::{AssertSqlSafe, FromRow, PgPool};
use std::collections::HashMap;
use uuid::Uuid;

use crate::Result;
use crate::benchmarks::{RESULT_COLUMNS, RunResult};
use crate::standstill::STALLED_SINCE;

/// The latest result of a run that can be compared, on the suite that its overview charts, and the curve that leads to it.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct Outcome {
    #[serde(skip)]
    pub of_run: Uuid,
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub result: RunResult,
    /// Finished steps when the run, or the one it was forked from, was measured on these rows in this way.
    pub steps: Vec<i32>,
    /// pass@1 after each of them.
    pub scores: Vec<f64>,
}

/// The outcomes of those of `runs` that have one.
pub async fn outcomes(db: &PgPool, runs: &[Uuid]) -> Result<HashMap<Uuid, Outcome>> {
    let query = format!(
        "SELECT o.run_id AS of_run, curve.steps, curve.scores, {RESULT_COLUMNS}
         FROM run_outcomes o
         JOIN run_results x ON (x.run_id, x.suite, x.row_set, x.decoding, x.step) = (o.of_run, o.suite, o.row_set, o.decoding, o.step),
         LATERAL (SELECT array_agg(step ORDER BY step) AS steps, array_agg(pass_at_1 ORDER BY step) AS scores FROM (
             SELECT DISTINCT ON (c.step) c.step, c.pass_at_1 FROM past_of(o.run_id) past JOIN run_results c USING (run_id)
             WHERE (past.before IS NULL OR c.step <= past.before)
                 AND (c.suite, c.row_set, c.decoding) = (o.suite, o.row_set, o.decoding)
             ORDER BY c.step, past.before DESC) points) curve
         WHERE o.run_id = ANY($1)"
    );
    let found: Vec<Outcome> = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(runs).fetch_all(db).await?;
    Ok(found.into_iter().map(|outcome| (outcome.of_run, outcome)).collect())
}

/// How many seconds workers worked on the finished steps of each of `runs`.
pub async fn costs(db: &PgPool, runs: &[Uuid]) -> Result<HashMap<Uuid, f64>> {
    let query = sqlx::query_as("SELECT run_id, worker_seconds FROM run_costs WHERE run_id = ANY($1)");
    let costs: Vec<(Uuid, f64)> = query.bind(runs).fetch_all(db).await?;
    Ok(costs.into_iter().collect())
}

/// What a verdict needs to know of a run besides its metrics and its outcome.
#[derive(Clone, Debug, FromRow)]
pub struct Standing {
    pub id: Uuid,
    /// Names of its metrics, in the order of their values.
    pub metrics: Vec<String>,
    /// The resolved config.
    pub config: serde_json::Value,
    /// Whether it is running, nothing has happened for a minute, and it waits for nothing.
    pub is_stalled: bool,
    /// Whether it is to be measured, or was.
    pub is_due: bool,
    /// Whether an evaluation of it is running.
    pub is_measuring: bool,
}

pub async fn standings(db: &PgPool, runs: &[Uuid]) -> Result<Vec<Standing>> {
    Ok(sqlx::query_as(AssertSqlSafe(format!(
        "SELECT e.id, e.metrics, e.config, ({}) IS NOT NULL AS is_stalled,
             coalesce(jsonb_typeof(e.config -> 'benchmarks') <> 'null', false) OR EXISTS (
                 SELECT FROM past_of(e.id) past JOIN benchmark_results b USING (run_id)
                 WHERE b.step IS NULL OR past.before IS NULL OR b.step <= past.before) AS is_due,
             EXISTS (SELECT FROM evaluations v JOIN executions x ON x.id = v.id
                 WHERE v.run_id = e.id AND x.state = 'running') AS is_measuring
         FROM executions e WHERE e.id = ANY($1)",
        *STALLED_SINCE
    )))
    .bind(runs)
    .fetch_all(db)
    .await?)
}

/// The tags that runs have.
pub async fn tags(db: &PgPool) -> Result<Vec<String>> {
    let query = sqlx::query_scalar("SELECT DISTINCT unnest(tags) AS tag FROM runs ORDER BY tag LIMIT 200");
    Ok(query.fetch_all(db).await?)
}
