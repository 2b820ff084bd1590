//! Matchups of a run.

use lyceum_core::{
    id::{ExecutionId, MemberId},
    recipe::Winner,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{
    Result,
    page::{Page, Window, and, by_seq, keyed_by_seq},
};

/// A matchup of a teacher and a student.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "student"))]
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
