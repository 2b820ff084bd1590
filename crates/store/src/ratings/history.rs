//! Ratings over steps.

use lyceum_core::{
    id::{ExecutionId, MemberId},
    recipe::Role,
};
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::{Result, steps::Stretch};

/// A member's rating after a step.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct RatingPoint {
    pub step: i32,
    pub member_id: Uuid,
    pub role: Role,
    /// Mean (TrueSkill).
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}

/// Ratings of all or some members of `run`, at every `steps.width`th step and at the last one.
pub async fn history(
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
