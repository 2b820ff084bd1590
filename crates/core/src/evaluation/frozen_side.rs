//! Evaluations of type `frozen_side`.

use serde::{Deserialize, Serialize};

use crate::id::ExecutionId;

/// Holds one side at a step and lets the other play at every given step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrozenSideSpec {
    /// The run.
    pub run: ExecutionId,
    /// The step at which the frozen side is held.
    pub frozen_step: u32,
    /// The steps at which the other side plays.
    pub steps: Vec<u32>,
    /// The side that is held.
    pub frozen: Side,
}

/// A side of a matchup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The proposers.
    Teacher,
    /// The solvers.
    Student,
}
