//! Attempts.

use serde::{Deserialize, Serialize};

use crate::{
    contract::Role,
    id::{AttemptId, MemberId, ProblemId, VersionId},
    verify::Status,
};

/// One answer of one member to a problem.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    pub id: AttemptId,
    pub problem: ProblemId,
    /// The solver and the version of its weights.
    pub solver: (MemberId, VersionId),
    /// The role it played.
    pub role: Role,
    /// The index of the sample.
    pub sample: u32,
    /// Its response, unparsed.
    pub text: String,
    /// The extracted answer.
    pub answer: Option<String>,
    /// Whether the answer has the required form.
    pub well_formed: bool,
    /// How the verifier's execution ended.
    pub status: Status,
    /// The status as text.
    pub reason: String,
    /// Whether it solves the problem.
    pub correct: bool,
    pub reward: f32,
    /// The parts of the reward, by name.
    pub reward_parts: serde_json::Value,
    /// Its length in tokens.
    pub tokens: u32,
}
