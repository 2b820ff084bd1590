//! Attempts of a run.

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, MemberId, ProblemId};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use super::{
    Page, Window,
    filter::and,
    window::{by_seq, keyed_by_seq},
};
use crate::Result;

/// One answer of one member to a problem.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Attempt {
    /// The attempt.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The step.
    pub step: i32,
    /// The problem.
    pub problem_id: Uuid,
    /// Who answered.
    pub member_id: Uuid,
    /// By which weights.
    pub version_id: Uuid,
    /// What it played.
    pub role: String,
    /// Which of the samples, from 0.
    pub sample: i32,
    /// What it answered, unparsed.
    pub text: String,
    /// The answer found in it.
    pub answer: Option<String>,
    /// Whether the answer has the form that was asked for.
    pub well_formed: bool,
    /// What the verifier met.
    pub status: String,
    /// The same, said to a person.
    pub reason: String,
    /// Whether it solves the problem.
    pub correct: bool,
    /// What it got.
    pub reward: f32,
    /// The parts that the reward was made of, by name.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub reward_parts: serde_json::Value,
    /// Its length in tokens.
    pub tokens: i32,
    /// When it was written down.
    pub created_at: DateTime<Utc>,
}

/// Which attempts.
#[derive(Clone, Debug, Default)]
pub struct AttemptFilter {
    /// At this problem.
    pub problem: Option<ProblemId>,
    /// By this member.
    pub member: Option<MemberId>,
    /// At problems of this proposer.
    pub proposer: Option<MemberId>,
    /// At problems of this type.
    pub problem_type: Option<String>,
    /// From this step on.
    pub from: Option<u32>,
    /// Up to this step.
    pub to: Option<u32>,
    /// Those that solve their problem, or those that do not.
    pub correct: Option<bool>,
}

keyed_by_seq!(Attempt);

/// Attempts of `run` that fit `filter`.
pub async fn attempts(db: &PgPool, run: ExecutionId, filter: &AttemptFilter, window: &Window) -> Result<Page<Attempt>> {
    let mut query = QueryBuilder::new(
        "SELECT id, seq, step, problem_id, member_id, version_id, role, sample, text, answer, well_formed, status, reason,
         correct, reward, reward_parts, tokens, created_at FROM attempts WHERE run_id = ",
    );
    query.push_bind(run.0);
    and(&mut query, "problem_id = ", filter.problem.map(|id| id.0));
    and(&mut query, "member_id = ", filter.member.map(|id| id.0));
    and(&mut query, "correct = ", filter.correct);
    and(&mut query, "step >= ", filter.from.map(u32::cast_signed));
    and(&mut query, "step <= ", filter.to.map(u32::cast_signed));
    if filter.proposer.is_some() || filter.problem_type.is_some() {
        query.push(" AND EXISTS (SELECT FROM problems p WHERE p.id = attempts.problem_id");
        and(&mut query, "p.proposer_id = ", filter.proposer.map(|id| id.0));
        and(&mut query, "p.type = ", filter.problem_type.clone());
        query.push(")");
    }
    by_seq(db, query, "seq", window).await
}
