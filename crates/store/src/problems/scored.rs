//! Problems that members proposed, with the score that a critic gave each.

use lyceum_core::{
    id::ExecutionId,
    recipe::{Role, SCORE_OF_QUESTION},
};
use sqlx::{FromRow, PgPool};

use crate::{Result, steps::Stretch};

/// A problem that a member proposed, as its critic saw it.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ScoredProblem {
    /// Whether it may be attempted.
    pub valid: bool,
    /// Its values, a JSON document.
    pub values: String,
    /// Whether a critic was asked.
    pub is_scored: bool,
    /// The answer of the critic's attempt; none if it has no number.
    pub score: Option<String>,
}

/// The newest `limit` problems that members of `run` proposed in these steps, newest first.
pub async fn scored(db: &PgPool, run: ExecutionId, steps: Stretch, limit: u32) -> Result<Vec<ScoredProblem>> {
    let [from, to, _] = steps.binds();
    Ok(sqlx::query_as(
        "SELECT p.valid, p.\"values\"::text AS values, c.id IS NOT NULL AS is_scored, c.answer AS score
         FROM problems p LEFT JOIN LATERAL (
             SELECT id, answer FROM attempts
             WHERE problem_id = p.id AND role = $5 AND starts_with(reason, $6) ORDER BY seq LIMIT 1
         ) c ON true
         WHERE p.run_id = $1 AND p.proposer_id IS NOT NULL AND p.step BETWEEN $2 AND $3
         ORDER BY p.seq DESC LIMIT $4",
    )
    .bind(run.0)
    .bind(from)
    .bind(to)
    .bind(i64::from(limit))
    .bind(Role::Critic)
    .bind(SCORE_OF_QUESTION)
    .fetch_all(db)
    .await?)
}
