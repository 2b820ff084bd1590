//! The answers to a problem, counted.

use lyceum_core::{id::ProblemId, recipe::Side};
use serde::Serialize;
use sqlx::{FromRow, PgPool};

use super::roles_of;
use crate::Result;

/// The answers to a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRow, Serialize)]
pub struct Answers {
    pub count: i64,
    pub correct: i64,
}

impl Answers {
    /// The share that is correct; `None` without answers.
    pub fn share_correct(self) -> Option<f64> {
        (self.count > 0).then(|| self.correct as f64 / self.count as f64)
    }
}

/// Counts the answers to a problem that its run asked for.
pub async fn answers(db: &PgPool, problem: ProblemId) -> Result<Answers> {
    let count = "SELECT count(*) AS count, count(*) FILTER (WHERE correct) AS correct FROM attempts
        WHERE problem_id = $1 AND role = ANY($2) AND evaluation_id IS NULL";
    Ok(sqlx::query_as(count)
        .bind(problem.0)
        .bind(roles_of(Side::Solves))
        .fetch_one(db)
        .await?)
}
