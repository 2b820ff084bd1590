//! Who won, and what is believed of whom.

use serde::{Deserialize, Serialize};

use crate::{
    id::{MatchupId, MemberId},
    recipe::Role,
};

/// Who won a matchup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// The teacher.
    Teacher,
    /// The student.
    Student,
}

/// A teacher's meeting with a student.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchupRecord {
    /// The matchup.
    pub id: MatchupId,
    /// Who proposed.
    pub teacher: MemberId,
    /// Who solved.
    pub student: MemberId,
    /// Problems proposed.
    pub proposed: u32,
    /// Those that were valid.
    pub valid: u32,
    /// Mean solve rate over the valid ones; none where there is none.
    pub solve_rate: Option<f32>,
    /// Probability of the student's winning, as the ratings before the matchup predict.
    pub predicted: f32,
    /// Who won.
    pub winner: Winner,
}

/// A rating (TrueSkill) of a member in a role after a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatingRecord {
    /// The member.
    pub member: MemberId,
    /// The role.
    pub role: Role,
    /// Mean.
    pub mu: f64,
    /// Standard deviation.
    pub sigma: f64,
}
