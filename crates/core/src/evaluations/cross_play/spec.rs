//! Evaluations of type `cross_play`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evaluations::one;
use crate::id::{ExecutionId, MemberId};

/// Lets students attempt the newest valid problems of teachers they have not met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossPlaySpec {
    /// The run.
    pub run: ExecutionId,
    /// Students play with the versions at the start of this step, on problems proposed before it.
    pub step: u32,
    /// Maximum number of problems per cell; all students of a teacher get the same ones.
    #[schemars(range(min = 1, max = 1000))]
    pub problems: u32,
    /// Attempts at each problem.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000))]
    pub samples: u32,
    /// The pairs to play; left out, all members of the step that have not met before it.
    #[serde(default)]
    #[schemars(length(max = 1600))]
    pub cells: Vec<Pairing>,
}

/// A teacher and a student.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pairing {
    /// The proposer.
    pub teacher: MemberId,
    /// The solver.
    pub student: MemberId,
}
