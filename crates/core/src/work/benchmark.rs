//! Measuring a frozen version.

use serde::{Deserialize, Serialize};

use super::{AdapterRef, BaseModel, Compute, Sampling};
use crate::{artifact::Digest, id::DatasetId};

/// Answers of one version to a slice of a suite; its samples are graded as `verify` items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkPayload {
    /// The suite's name, such as `humaneval`.
    pub suite: String,
    /// The imported rows.
    pub dataset: DatasetId,
    /// The first row of the slice, from 0.
    pub first: u32,
    /// Rows in the slice.
    pub rows: u32,
    /// The frozen base.
    pub base_model: BaseModel,
    /// How to compute.
    #[serde(default)]
    pub compute: Compute,
    /// The version measured; none is the base alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterRef>,
    /// The prompt set that the rows are put to the model in.
    pub prompts: String,
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// Samples a row.
    pub n: u32,
    /// Seed of the samples.
    pub seed: u64,
}

/// The samples of a slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkResult {
    /// The samples, one line of JSON each: `task_id`, `sample`, `completion`, `solution`.
    pub samples: Digest,
    /// How many there are.
    pub count: u64,
    /// Tokens generated.
    pub completion_tokens: u64,
    /// Wall-clock time, in seconds.
    pub seconds: f64,
}
