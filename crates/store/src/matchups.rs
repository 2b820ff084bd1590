//! Matchups of a teacher and a student.

use lyceum_core::evolution::audit::Played;
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_core::rating::Scores;
use lyceum_core::recipe::{MatchupRecord, Winner};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Result;
use crate::page::{Page, Window, and, by_seq, keyed_by_seq};
use crate::steps::{StepRef, Stretch};

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

/// A matchup of a teacher and a student.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Matchup {
    /// The matchup.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The step.
    pub step: i32,
    /// The proposer.
    pub teacher_id: Uuid,
    /// The solver.
    pub student_id: Uuid,
    /// Problems proposed.
    pub proposed: i32,
    /// Valid ones among them.
    pub valid: i32,
    /// Mean solve rate over the valid ones; none if there are none.
    pub solve_rate: Option<f32>,
    /// The student's score, which was compared with `predicted`; none where the solve rate was compared.
    pub student_score: Option<f32>,
    /// The teacher's mean reward over all proposals, -1 for an invalid one; none where it was not kept.
    pub teacher_reward: Option<f32>,
    /// The student's win probability, predicted from the ratings before the matchup.
    pub predicted: f32,
    /// `teacher` or `student`.
    #[schema(value_type = String, example = "student")]
    pub winner: Winner,
}

/// Selects matchups.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct MatchupFilter {
    /// Of this proposer.
    pub teacher: Option<MemberId>,
    /// Of this solver.
    pub student: Option<MemberId>,
    /// Of this step.
    #[schemars(range(max = 2_147_483_647))]
    pub step: Option<u32>,
}

keyed_by_seq!(Matchup);

/// Matchups of `run` that fit `filter`.
pub async fn page(db: &PgPool, run: ExecutionId, filter: &MatchupFilter, window: &Window) -> Result<Page<Matchup>> {
    let mut query = QueryBuilder::new(
        "SELECT id, seq, step, teacher_id, student_id, proposed, valid, solve_rate, student_score, teacher_reward,
         predicted, winner FROM matchups WHERE run_id = ",
    );
    query.push_bind(run.0);
    and(&mut query, "teacher_id = ", filter.teacher.map(|id| id.0));
    and(&mut query, "student_id = ", filter.student.map(|id| id.0));
    and(&mut query, "step = ", filter.step.map(u32::cast_signed));
    by_seq(db, query, "seq", window).await
}

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
        scores: Scores { invalid, solve_rate, teacher_reward },
    };
    Ok(rows.into_iter().map(played).collect())
}

/// Writes matchups, and counts them on the run.
pub(crate) async fn write(tx: &mut PgConnection, at: StepRef, records: &[MatchupRecord]) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let mut insert = QueryBuilder::new(
        "WITH inserted AS (INSERT INTO matchups (id, run_id, step, teacher_id, student_id, proposed, valid, solve_rate,
         student_score, teacher_reward, predicted, winner) ",
    );
    insert.push_values(records, |mut row, record| {
        row.push_bind(record.id.0)
            .push_bind(at.run.0)
            .push_bind(at.number())
            .push_bind(record.teacher.0)
            .push_bind(record.student.0)
            .push_bind(record.proposed.cast_signed())
            .push_bind(record.valid.cast_signed())
            .push_bind(record.solve_rate)
            .push_bind(record.student_score)
            .push_bind(record.teacher_reward)
            .push_bind(record.predicted)
            .push_bind(match record.winner {
                Winner::Teacher => "teacher",
                Winner::Student => "student",
            });
    });
    insert.push(
        " ON CONFLICT DO NOTHING RETURNING 1)
         UPDATE runs SET matchups = matchups + (SELECT count(*) FROM inserted) WHERE id = ",
    );
    insert.push_bind(at.run.0);
    insert.build().execute(tx).await?;
    Ok(())
}
