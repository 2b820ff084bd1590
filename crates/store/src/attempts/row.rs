//! An attempt's row.

use chrono::{DateTime, Utc};
use lyceum_core::{recipe::Role, verify::Status};
use serde::Serialize;
use sqlx::FromRow;
use uuid::Uuid;

use crate::page::keyed_by_seq;

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
    /// The member that answered.
    pub member_id: Uuid,
    /// The version of its weights.
    pub version_id: Uuid,
    /// Its role.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub role: Role,
    /// Index of the sample, from 0.
    pub sample: i32,
    /// Its response, unparsed.
    pub text: String,
    /// The answer found in it.
    pub answer: Option<String>,
    /// Whether the answer has the requested form.
    pub well_formed: bool,
    /// The verifier's status.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub status: Status,
    /// The status as text.
    pub reason: String,
    /// Whether it solves the problem.
    pub correct: bool,
    /// Its reward.
    pub reward: f32,
    /// The parts of the reward, by name.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub reward_parts: serde_json::Value,
    /// Its length in tokens.
    pub tokens: i32,
    /// The evaluation that had it made; none for attempts of the run itself.
    pub evaluation_id: Option<Uuid>,
    /// When it was written.
    pub created_at: DateTime<Utc>,
}

keyed_by_seq!(Attempt);

pub(super) const COLUMNS: &str =
    "id, seq, step, problem_id, member_id, version_id, role, sample, text, answer, well_formed, status,
    reason, correct, reward, reward_parts, tokens, evaluation_id, created_at";
