//! How often problems were solved: where there is something to learn, and where there is not.

use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::{Result, steps::Stretch};

/// Problems of some steps that were solved equally often.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct SolveBand {
    /// The first step.
    pub step: i32,
    /// From 0, solved by no attempt, to the number of bands less one, solved by all; those between are of equal width.
    pub band: i32,
    /// Problems.
    pub problems: i64,
}

/// A valid problem with what can make it suspicious.
#[derive(Clone, Debug, FromRow)]
pub struct Candidate {
    /// The problem.
    pub id: Uuid,
    /// The step.
    pub step: i32,
    /// Its type.
    #[sqlx(rename = "type")]
    pub problem_type: String,
    /// Who proposed it.
    pub proposer_id: Option<Uuid>,
    /// The program.
    pub program: String,
    /// Cyclomatic complexity.
    pub cyclomatic: Option<f32>,
    /// Share of the attempts that solved it.
    pub solve_rate: Option<f32>,
    /// Attempts made.
    pub attempts: i32,
    /// Letters of what the proposer wrote.
    pub proposal_letters: i32,
    /// Letters of the longest answer that solved it.
    pub answer_letters: Option<i32>,
}

/// Attempted problems of `run` by how often they were solved: none, all, and `inner` bands of equal width between.
pub async fn solve_bands(db: &PgPool, run: ExecutionId, steps: Stretch, inner: u32) -> Result<Vec<SolveBand>> {
    let [from, to, width] = steps.binds();
    Ok(sqlx::query_as(
        "SELECT step / $2 * $2 AS step,
             CASE WHEN solve_rate <= 0 THEN 0 WHEN solve_rate >= 1 THEN $3 + 1
                  ELSE least(floor(solve_rate * $3)::int, $3 - 1) + 1 END AS band,
             sum(problems)::bigint AS problems
         FROM solve_rates WHERE run_id = $1 AND step BETWEEN $4 AND $5 AND problems > 0 GROUP BY 1, 2 ORDER BY 1, 2",
    )
    .bind(run.0)
    .bind(width)
    .bind(inner.max(1).cast_signed())
    .bind(from)
    .bind(to)
    .fetch_all(db)
    .await?)
}

/// The newest `limit` valid problems of `run` that were attempted.
pub async fn candidates(db: &PgPool, run: ExecutionId, limit: u32) -> Result<Vec<Candidate>> {
    Ok(sqlx::query_as(
        "SELECT id, step, type, proposer_id, left(program, 20000) AS program, cyclomatic, solve_rate, attempts,
             length(proposal) AS proposal_letters,
             (SELECT max(length(a.text)) FROM attempts a WHERE a.problem_id = p.id AND a.correct) AS answer_letters
         FROM (SELECT * FROM problems WHERE run_id = $1 AND valid ORDER BY seq DESC LIMIT $2) p
         WHERE program IS NOT NULL AND attempts > 0 ORDER BY seq DESC",
    )
    .bind(run.0)
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?)
}
