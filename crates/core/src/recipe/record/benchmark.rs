//! What an evaluation came to.

use serde::{Deserialize, Serialize};

use crate::{
    benchmark::{Graded, Score, SubjectRole},
    id::{DatasetId, ExecutionId, MemberId, VersionId},
    work::{BaseModel, BenchmarkSample},
};

/// What a subject of an evaluation came to on a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkResultRecord {
    /// The suite.
    pub suite: String,
    /// Which subject of the evaluation it is, from 0.
    pub subject: u32,
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: SubjectRole,
    /// The run that it belongs to.
    pub run: Option<ExecutionId>,
    /// The member of it.
    pub member: Option<MemberId>,
    /// Its exact weights.
    pub version: Option<VersionId>,
    /// Steps of the run that they have seen.
    pub step: Option<u32>,
    /// The frozen base.
    pub base_model: BaseModel,
    /// The rows.
    pub dataset: DatasetId,
    /// How it was asked.
    pub protocol: serde_json::Value,
    /// Samples a row.
    pub n: u32,
    /// Samples and right ones, row by row.
    pub score: Score,
    /// The same by the tests of the base benchmark alone, where they are counted apart.
    pub base: Option<Score>,
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Time that generation took, over all its items, in seconds.
    pub seconds: f64,
}

/// A graded sample of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkSampleRecord {
    /// The suite.
    pub suite: String,
    /// Which subject of the evaluation made it, from 0.
    pub subject: u32,
    /// The task.
    pub task_id: String,
    /// The sample.
    pub sample: BenchmarkSample,
    /// What its verdict says.
    pub graded: Graded,
}
