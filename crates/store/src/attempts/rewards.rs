//! What attempts at a problem earned, by role.

use lyceum_core::{id::ProblemId, recipe::Role};
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use crate::Result;

/// The mean of a reward, or of one of its parts, over the attempts in a role.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct MeanReward {
    pub role: Role,
    /// The part; none for the whole reward.
    pub part: Option<String>,
    /// Attempts.
    pub count: i64,
    pub mean: f64,
}

/// The mean rewards of the attempts at a problem, and the means of their parts, by role. Attempts without parts were not
/// rewarded and do not count.
pub async fn mean_rewards(db: &PgPool, problem: ProblemId) -> Result<Vec<MeanReward>> {
    Ok(sqlx::query_as(
        "WITH rewarded AS (
             SELECT role, reward, reward_parts FROM attempts
             WHERE problem_id = $1 AND evaluation_id IS NULL AND jsonb_typeof(reward_parts) = 'object' AND reward_parts <> '{}'
         )
         SELECT role, NULL AS part, count(*) AS count, avg(reward)::float8 AS mean FROM rewarded GROUP BY role
         UNION ALL
         SELECT role, part.key, count(*), avg((part.value #>> '{}')::float8)
         FROM rewarded, jsonb_each(reward_parts) part WHERE jsonb_typeof(part.value) = 'number' GROUP BY role, part.key
         ORDER BY role, part NULLS FIRST",
    )
    .bind(problem.0)
    .fetch_all(db)
    .await?)
}
