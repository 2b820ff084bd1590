//! All matchups of a run, for replaying its ratings.

use lyceum_core::{
    evolution::audit::Played,
    id::{ExecutionId, MemberId},
    rating::Scores,
};
use sqlx::PgPool;
use uuid::Uuid;

use crate::Result;

/// The first `limit` matchups of `run`, in the order in which they were decided, without those whose teacher's reward was
/// not kept. Where only the student's score was, by 1 less the reward, the reward follows from it.
pub async fn played(db: &PgPool, run: ExecutionId, limit: u32) -> Result<Vec<Played>> {
    let rows: Vec<(i32, Uuid, Uuid, f64, Option<f64>, f64)> = sqlx::query_as(
        "SELECT step, teacher_id, student_id, invalid, solve_rate::float8,
             coalesce(teacher_reward::float8, 1 - student_score - invalid)
         FROM (SELECT *, CASE proposed WHEN 0 THEN 0 ELSE 1 - valid::float8 / proposed END AS invalid FROM matchups) m
         WHERE run_id = $1 AND coalesce(teacher_reward, student_score) IS NOT NULL ORDER BY seq LIMIT $2",
    )
    .bind(run.0)
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?;
    let played = |(step, teacher, student, invalid, solve_rate, teacher_reward): (i32, _, _, _, _, _)| Played {
        step: step.cast_unsigned(),
        members: [MemberId(teacher), MemberId(student)],
        scores: Scores {
            invalid,
            solve_rate,
            teacher_reward,
        },
    };
    Ok(rows.into_iter().map(played).collect())
}
