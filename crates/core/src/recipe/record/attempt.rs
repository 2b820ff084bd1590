//! What was answered.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AttemptId, MemberId, ProblemId, VersionId},
    recipe::Role,
    verify::Status,
};

/// One answer of one member to a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// The attempt.
    pub id: AttemptId,
    /// The problem.
    pub problem: ProblemId,
    /// Who answered, by which weights.
    pub solver: (MemberId, VersionId),
    /// What it played.
    pub role: Role,
    /// Which of the samples, from 0.
    pub sample: u32,
    /// What it answered, unparsed.
    pub text: String,
    /// The answer found in it.
    pub answer: Option<String>,
    /// Whether the answer has the form that was asked for.
    pub well_formed: bool,
    /// What the verifier met.
    pub status: Status,
    /// The same, said to a person.
    pub reason: String,
    /// Whether it solves the problem.
    pub correct: bool,
    /// What it got.
    pub reward: f32,
    /// The parts that the reward was made of, by name.
    pub reward_parts: serde_json::Value,
    /// Its length in tokens.
    pub tokens: u32,
}
