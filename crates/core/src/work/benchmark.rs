//! Measures a frozen version.

use serde::{Deserialize, Serialize};

use super::{AdapterRef, BaseModel, Compute, FinishReason, RolloutUsage, Sampling};
use crate::id::DatasetId;
use crate::prompt::ReadingRule;

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
    #[serde(default)]
    pub compute: Compute,
    /// The version to measure; `None` for the base without an adapter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterRef>,
    /// The prompt style: a file of `configs/benchmarks/prompts`.
    pub prompts: String,
    /// How tokens are sampled.
    pub sampling: Sampling,
    /// Samples per row.
    pub n: u32,
    /// Seed of the samples; each row's seed is derived from it and the row's number.
    pub seed: u64,
}

/// The samples of a slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkResult {
    /// The samples, by row and then by index.
    pub samples: Vec<BenchmarkSample>,
    /// SHA-256 of the prompt style, in hex.
    pub prompts_sha256: String,
    /// SHA-256 of the model's chat template, in hex, if it was used for the prompts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_template_sha256: Option<String>,
    /// Negative log-probability of all its tokens under the distribution that they were drawn from, in nats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surprisal: Option<f64>,
    /// Its cost.
    pub usage: RolloutUsage,
}

/// One answer of a model to a row of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkSample {
    /// The row of the suite, from 0.
    pub row: u32,
    /// The index of the sample within the row.
    pub sample: u32,
    /// The model's output.
    pub text: String,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Its length in tokens.
    pub tokens: u32,
    /// The solution extracted from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solution: Option<String>,
    /// The rule that found it, if the suite's answers are read by several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadingRule>,
    /// Why there is no solution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
