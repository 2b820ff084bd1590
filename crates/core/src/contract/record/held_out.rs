//! Measurements on held-out rows.

use serde::{Deserialize, Serialize};

use crate::id::{MemberId, VersionId};

/// A member's answers to the held-out rows in a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldOutRecord {
    /// The member and the version of its weights, with which it began the step.
    pub solver: (MemberId, VersionId),
    /// The place of the first held-out row in the dataset.
    pub first_row: u32,
    /// Answers to each row.
    pub n: u32,
    /// How many of them are correct, by row.
    pub correct: Vec<u32>,
}
