//! Matchups and ratings.

use serde::{Deserialize, Serialize};

use crate::{
    contract::Role,
    id::{MatchupId, MemberId},
};

/// The winner of a matchup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Winner {
    Teacher,
    Student,
}

crate::named!(Winner, "a winner");

/// A match between a teacher and a student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchupRecord {
    pub id: MatchupId,
    /// The proposer.
    pub teacher: MemberId,
    /// The solver.
    pub student: MemberId,
    /// Problems proposed.
    pub proposed: u32,
    /// How many were valid.
    pub valid: u32,
    /// Mean solve rate over the valid problems; `None` if there are none.
    pub solve_rate: Option<f32>,
    /// The student's score, which is compared with `predicted`; `None` in records made before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub student_score: Option<f32>,
    /// The teacher's mean reward (Eq. 2) over all proposals; `None` in records made before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub teacher_reward: Option<f32>,
    /// The student's win probability, predicted from the ratings before the matchup.
    pub predicted: f32,
    pub winner: Winner,
}

/// A rating (TrueSkill) of a member in a role after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatingRecord {
    pub member: MemberId,
    pub role: Role,
    /// Mean.
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}
