//! How often problems were solved: only those solved sometimes teach anything.

use lyceum_core::{id::ExecutionId, recipe::Side, verify::ProblemKind};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::{Result, attempts::roles_of, steps::Stretch};

/// The number of problems of some steps in a band of solve rates.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct SolveBand {
    /// The first step.
    pub step: i32,
    /// The band, from 0 (never solved) to the last (always solved); those between have equal widths.
    pub band: i32,
    /// Number of problems.
    pub problems: i64,
}

/// A valid problem with the properties that can make it suspicious.
#[derive(Clone, Debug, FromRow)]
pub struct Candidate {
    /// The problem.
    pub id: Uuid,
    pub step: i32,
    #[sqlx(rename = "type")]
    pub problem_type: ProblemKind,
    pub proposer_id: Option<Uuid>,
    pub program: String,
    /// Cyclomatic complexity.
    pub cyclomatic: Option<f32>,
    /// Share of the attempts that solved it.
    pub solve_rate: Option<f32>,
    /// Attempts made.
    pub attempts: i32,
    /// Length of the proposal in characters.
    pub proposal_letters: i32,
    /// Length of the longest correct answer in characters.
    pub answer_letters: Option<i32>,
}

/// Attempted problems of `run` by solve rate: 0, 1, and `inner` bands of equal width between.
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

/// The newest `limit` attempted valid problems of `run`.
pub async fn candidates(db: &PgPool, run: ExecutionId, limit: u32) -> Result<Vec<Candidate>> {
    Ok(sqlx::query_as(
        "SELECT id, step, type, proposer_id, left(program, 20000) AS program, cyclomatic, solve_rate, attempts,
             length(proposal) AS proposal_letters,
             (SELECT max(length(a.text)) FROM attempts a
                  WHERE a.problem_id = p.id AND a.correct AND a.role = ANY($3)) AS answer_letters
         FROM (SELECT * FROM problems WHERE run_id = $1 AND valid ORDER BY seq DESC LIMIT $2) p
         WHERE program IS NOT NULL AND attempts > 0 ORDER BY seq DESC",
    )
    .bind(run.0)
    .bind(i64::from(limit))
    .bind(roles_of(Side::Solves))
    .fetch_all(db)
    .await?)
}
