//! Who solves whose problems: sums that are updated as attempts are written.

use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use lyceum_core::statistics::{Clusters, Interval};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::Result;
use crate::page::and;

/// Attempts of a student at a teacher's problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow, Serialize)]
pub struct CrossPlay {
    /// Index of the window of steps, from 0.
    pub window: i32,
    /// The proposer.
    pub teacher_id: Uuid,
    /// The member that answered.
    pub student_id: Uuid,
    /// Number of attempts.
    pub attempts: i64,
    /// Number of correct ones.
    pub solved: i64,
    /// How many of the attempts evaluations had made.
    pub evaluated: i64,
    /// Problems that they were at, which go together; 0 for those written by a release that did not count them.
    #[serde(skip)]
    pub problems: i64,
    #[serde(skip)]
    pub solved_squared: i64,
    #[serde(skip)]
    pub solved_attempts: i64,
    #[serde(skip)]
    pub attempts_squared: i64,
}

impl CrossPlay {
    /// The 95 % interval of the solve rate, with attempts clustered by problem.
    pub fn interval(&self) -> Option<Interval> {
        let count = |count: i64| count.max(0).cast_unsigned();
        let sums = Clusters {
            count: count(self.problems),
            successes: count(self.solved),
            trials: count(self.attempts),
            successes_squared: count(self.solved_squared),
            products: count(self.solved_attempts),
            trials_squared: count(self.attempts_squared),
        };
        sums.interval(Interval::Z_95)
    }

    /// Counts the attempts of another row of the same pair.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.attempts, other.attempts),
            (&mut self.solved, other.solved),
            (&mut self.evaluated, other.evaluated),
            (&mut self.problems, other.problems),
            (&mut self.solved_squared, other.solved_squared),
            (&mut self.solved_attempts, other.solved_attempts),
            (&mut self.attempts_squared, other.attempts_squared),
        ] {
            *sum += more;
        }
    }
}

/// Selects attempts.
#[derive(Clone, Debug, Default)]
pub struct CrossPlayFilter {
    /// From this step on, inclusive.
    pub from: u32,
    /// Up to this step, inclusive.
    pub to: Option<u32>,
    pub problem_type: Option<String>,
    /// Steps per window; `None` for one window over all steps.
    pub width: Option<u32>,
    /// Whether attempts are included that evaluations had made.
    pub evaluations: bool,
}

/// Every pair of `run` with attempts, by window, teacher and student.
pub async fn pairs(db: &PgPool, run: ExecutionId, filter: &CrossPlayFilter) -> Result<Vec<CrossPlay>> {
    let mut query = QueryBuilder::new("SELECT (CASE WHEN ");
    query.push_bind(filter.width.map(u32::cast_signed));
    query.push("::int IS NULL THEN 0 ELSE (step - ");
    query.push_bind(filter.from.cast_signed());
    query.push("::int) / ").push_bind(filter.width.unwrap_or(1).max(1).cast_signed());
    query.push(
        "::int END)::int AS window, teacher_id, student_id, sum(attempts)::bigint AS attempts, sum(solved)::bigint AS solved,
             sum(problems)::bigint AS problems, sum(solved_squared)::bigint AS solved_squared,
             sum(solved_attempts)::bigint AS solved_attempts, sum(attempts_squared)::bigint AS attempts_squared, ",
    );
    query.push(match filter.evaluations {
        false => "0::bigint AS evaluated FROM cross_play WHERE run_id = ",
        true => {
            "sum(evaluated)::bigint AS evaluated FROM (
                 SELECT run_id, step, teacher_id, student_id, type, attempts, solved, problems, solved_squared, solved_attempts,
                     attempts_squared, 0 AS evaluated FROM cross_play
                 UNION ALL SELECT run_id, step, teacher_id, student_id, type, attempts, solved, problems, solved_squared,
                     solved_attempts, attempts_squared, attempts
                 FROM evaluated_cross_play) met WHERE run_id = "
        }
    });
    query.push_bind(run.0);
    query.push(" AND step >= ").push_bind(filter.from.cast_signed());
    and(&mut query, "step <= ", filter.to.map(u32::cast_signed));
    and(&mut query, "type = ", filter.problem_type.clone());
    query.push(" GROUP BY 1, 2, 3 ORDER BY 1, 2, 3");
    Ok(query.build_query_as().fetch_all(db).await?)
}

/// The pairs of `run` that met in evaluations.
pub async fn evaluated(db: &PgPool, run: ExecutionId) -> Result<Vec<(Uuid, Uuid)>> {
    let pairs = sqlx::query_as("SELECT DISTINCT teacher_id, student_id FROM evaluated_cross_play WHERE run_id = $1");
    Ok(pairs.bind(run.0).fetch_all(db).await?)
}

/// Types of attempted problems of `run`.
pub async fn types(db: &PgPool, run: ExecutionId) -> Result<Vec<String>> {
    Ok(sqlx::query_scalar("SELECT DISTINCT type FROM cross_play WHERE run_id = $1 ORDER BY type")
        .bind(run.0)
        .fetch_all(db)
        .await?)
}

/// Up to `limit` of the newest valid problems that each of these teachers proposed before `step`: teacher and problem,
/// each teacher's oldest first.
pub async fn problems_to_play(
    db: &PgPool,
    run: ExecutionId,
    teachers: &[MemberId],
    step: u32,
    limit: u32,
) -> Result<Vec<(MemberId, ProblemId)>> {
    let ids: Vec<Uuid> = teachers.iter().map(|teacher| teacher.0).collect();
    let rows: Vec<(Uuid, Uuid)> = sqlx::query_as(
        "SELECT t.id, p.id FROM unnest($2::uuid[]) t(id) CROSS JOIN LATERAL (
             SELECT id, seq FROM problems WHERE proposer_id = t.id AND run_id = $1 AND valid AND step < $3
                 AND type IN ('code_i', 'code_o', 'code_f')
             ORDER BY seq DESC LIMIT $4) p ORDER BY t.id, p.seq",
    )
    .bind(run.0)
    .bind(&ids)
    .bind(step.cast_signed())
    .bind(i64::from(limit))
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|(teacher, problem)| (MemberId(teacher), ProblemId(problem))).collect())
}
