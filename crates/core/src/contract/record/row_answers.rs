//! The outcome of a dataset's row in a step.

use serde::{Deserialize, Serialize};

use crate::id::ProblemId;

/// All members' answers to a row of a dataset in a step, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowAnswersRecord {
    /// The row's problem.
    pub problem: ProblemId,
    /// The row's place in the dataset, from 0.
    pub row: u32,
    pub answers: u32,
    /// How many of them are correct.
    pub correct: u32,
}
