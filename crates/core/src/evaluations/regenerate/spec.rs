//! Evaluations of type `regenerate`.

use serde::{Deserialize, Serialize};

use crate::id::{AttemptId, ProblemId};

/// Generates a recorded sample again, an attempt or a proposal, and compares the two. The whole work item is run again,
/// since the last bits of a sample depend on the batch it is drawn in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegenerateSpec {
    /// The attempt; either this or `problem`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptId>,
    /// The proposed problem; either this or `attempt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<ProblemId>,
}
