//! Ratings over steps, and what matchups came to.

use lyceum_core::id::{ExecutionId, MemberId};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use super::Stretch;
use crate::Result;

/// A member's rating after a step.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct RatingPoint {
    /// The step.
    pub step: i32,
    /// The member.
    pub member_id: Uuid,
    /// The role.
    pub role: String,
    /// Mean (TrueSkill).
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}

/// What the matchups of some steps came to.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct MatchupOutcomes {
    /// The first step.
    pub step: i32,
    /// Matchups decided.
    pub matchups: i64,
    /// Those that the teacher won.
    pub teacher_wins: i64,
    /// Mean solve rate of those that had a valid problem.
    pub solve_rate: Option<f64>,
    /// Mean of the probability, as predicted, that the student wins.
    pub predicted: f64,
}

/// Ratings of the members of `run`, or of some of them, at every so manyth step of `steps` and at the last one.
pub async fn rating_history(
    db: &PgPool,
    run: ExecutionId,
    members: Option<&[MemberId]>,
    steps: Stretch,
) -> Result<Vec<RatingPoint>> {
    let [from, to, stride] = steps.binds();
    let members = members.map(|members| members.iter().map(|id| id.0).collect::<Vec<Uuid>>());
    Ok(sqlx::query_as(
        "SELECT step, member_id, role, mu, sigma FROM ratings
         WHERE run_id = $1 AND ($2::uuid[] IS NULL OR member_id = ANY($2))
             AND step BETWEEN $4 AND $5
             AND (step % $3 = 0 OR step = (SELECT max(step) FROM ratings WHERE run_id = $1))
         ORDER BY step, member_id, role",
    )
    .bind(run.0)
    .bind(members)
    .bind(stride)
    .bind(from)
    .bind(to)
    .fetch_all(db)
    .await?)
}

/// What the matchups of `run` came to, in the order of the steps.
pub async fn matchup_outcomes(db: &PgPool, run: ExecutionId, steps: Stretch) -> Result<Vec<MatchupOutcomes>> {
    let [from, to, width] = steps.binds();
    Ok(sqlx::query_as(
        "SELECT step / $2 * $2 AS step, count(*) AS matchups, count(*) FILTER (WHERE winner = 'teacher') AS teacher_wins,
             avg(solve_rate) AS solve_rate, avg(predicted)::float8 AS predicted
         FROM matchups WHERE run_id = $1 AND step BETWEEN $3 AND $4 GROUP BY 1 ORDER BY 1",
    )
    .bind(run.0)
    .bind(width)
    .bind(from)
    .bind(to)
    .fetch_all(db)
    .await?)
}
