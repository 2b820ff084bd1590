//! Counts of attempts at goalposts.

use serde::{Deserialize, Serialize};

use crate::id::{DatasetId, ExecutionId, MemberId, VersionId};

/// How often a subject of an evaluation solved each of some problems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalpostCountRecord {
    /// The index of the subject.
    pub subject: u32,
    pub name: String,
    /// Whether it is the untrained base in place of the checkpoint that run, member and step name.
    pub control: bool,
    pub run: Option<ExecutionId>,
    /// The member of the run.
    pub member: Option<MemberId>,
    /// The exact weights; none for a base.
    pub version: Option<VersionId>,
    /// Finished steps of the run when the member had these weights.
    pub step: Option<u32>,
    /// The frozen base.
    pub base_model: String,
    /// The dataset with the problems.
    pub dataset: DatasetId,
    /// The place of the first problem in the dataset.
    pub first_row: u32,
    /// Attempts at each problem.
    pub n: u32,
    /// How many of them are correct, by problem.
    pub correct: Vec<u32>,
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Time spent on generation, summed over all its items, in seconds.
    pub seconds: f64,
}
