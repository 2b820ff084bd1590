//! Outcomes of matchups.

use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::{Result, steps::Stretch};

/// Outcomes of the matchups of some steps.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct MatchupOutcomes {
    /// The first step.
    pub step: i32,
    /// Number of matchups.
    pub matchups: i64,
    /// Number won by the teacher.
    pub teacher_wins: i64,
    /// Mean solve rate over matchups with a valid problem.
    pub solve_rate: Option<f64>,
    /// Mean score of the student.
    pub student_score: f64,
    /// Mean predicted win probability of the student.
    pub predicted: f64,
}

pub async fn outcomes(db: &PgPool, run: ExecutionId, steps: Stretch) -> Result<Vec<MatchupOutcomes>> {
    let [from, to, width] = steps.binds();
    Ok(sqlx::query_as(
        "SELECT step / $2 * $2 AS step, count(*) AS matchups, count(*) FILTER (WHERE winner = 'teacher') AS teacher_wins,
             avg(solve_rate) AS solve_rate,
             avg(coalesce(student_score, solve_rate, 1))::float8 AS student_score, avg(predicted)::float8 AS predicted
         FROM matchups WHERE run_id = $1 AND step BETWEEN $3 AND $4 GROUP BY 1 ORDER BY 1",
    )
    .bind(run.0)
    .bind(width)
    .bind(from)
    .bind(to)
    .fetch_all(db)
    .await?)
}

/// A member's record in its matchups.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize)]
pub struct Wins {
    /// The member.
    pub id: Uuid,
    /// Number of matchups, as a teacher or a student.
    pub matchups: i64,
    /// Number it won.
    pub wins: i64,
}

/// The records of the members of `run` that had a matchup.
pub async fn wins(db: &PgPool, run: ExecutionId) -> Result<Vec<Wins>> {
    Ok(sqlx::query_as(
        "SELECT id, count(*) AS matchups, count(*) FILTER (WHERE won) AS wins FROM (
             SELECT teacher_id AS id, winner = 'teacher' AS won FROM matchups WHERE run_id = $1
             UNION ALL
             SELECT student_id, winner = 'student' FROM matchups WHERE run_id = $1) played
         GROUP BY id",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?)
}
