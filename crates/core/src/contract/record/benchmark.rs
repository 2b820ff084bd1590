//! Results of evaluations.

use serde::{Deserialize, Serialize};

use crate::{
    benchmark::{Graded, Score, SubjectRole},
    id::{DatasetId, ExecutionId, MemberId, VersionId},
    work::{BaseModel, BenchmarkSample},
};

/// The result of an evaluation's subject on a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkResultRecord {
    pub suite: String,
    /// The index of the subject.
    pub subject: u32,
    pub name: String,
    pub role: SubjectRole,
    /// The run it belongs to.
    pub run: Option<ExecutionId>,
    /// The member of the run.
    pub member: Option<MemberId>,
    /// Its exact weights.
    pub version: Option<VersionId>,
    /// Number of the run's steps that the weights have been through.
    pub step: Option<u32>,
    /// The frozen base.
    pub base_model: BaseModel,
    /// The dataset with the rows.
    pub dataset: DatasetId,
    /// How the model was asked.
    pub protocol: serde_json::Value,
    /// Samples per row.
    pub n: u32,
    /// Counts of samples and of correct ones, by row.
    pub score: Score,
    /// The score by the base benchmark's tests alone, if they are counted separately.
    pub base: Option<Score>,
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Mean surprisal of a token, in nats: an estimate of the entropy of the distribution that tokens were drawn from, so
    /// it depends on the temperature. `None` if a worker did not report it.
    pub entropy: Option<f64>,
    /// Time spent on generation, summed over all its items, in seconds.
    pub seconds: f64,
}

/// A graded sample of a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkSampleRecord {
    pub suite: String,
    /// The index of the subject that made it.
    pub subject: u32,
    pub task_id: String,
    pub sample: BenchmarkSample,
    /// Its grade.
    pub graded: Graded,
}
