//! Evaluations of type `regenerate`.

use serde::{Deserialize, Serialize};

use crate::id::AttemptId;

/// Generates a stored attempt again and compares the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegenerateSpec {
    /// The attempt.
    pub attempt: AttemptId,
}
