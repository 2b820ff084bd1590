//! Evaluations of type `benchmark`.

use serde::{Deserialize, Serialize};

use crate::benchmark::{MAX_SAMPLES, SuiteChoice};
use crate::contract::Role;
use crate::evaluations::one;
use crate::id::{ExecutionId, VersionId};
use crate::work::{BaseModel, Compute, MAX_TEMPERATURE};

/// Measures versions on suites.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkSpec {
    /// Suites by name, each of which needs an imported dataset; or objects that also name the dataset, `n`, `temperature`
    /// and more.
    #[schemars(length(min = 1, max = 64))]
    pub suites: Vec<SuiteChoice>,
    /// Exact weights to measure.
    #[serde(default)]
    pub versions: Vec<VersionId>,
    /// Also measures every living member of this run.
    #[serde(default)]
    pub run: Option<ExecutionId>,
    /// Measures the run's members as of this many steps, with their weights at that point; left out, the current
    /// ones.
    #[serde(default)]
    pub step: Option<u32>,
    /// Also measures a model without an adapter: a base, or a merged model in the models folder.
    #[serde(default)]
    pub base_model: Option<BaseModel>,
    /// Also measures the base models of the versions and of the run.
    #[serde(default = "yes")]
    pub base: bool,
    /// Measures only those of the run's members that play one of these roles; left out, all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<Role>,
    /// Samples per row.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = MAX_SAMPLES))]
    pub n: u32,
    /// Use only this many rows of each suite, spread over it by a fixed draw, for a quick look; scores are then not the
    /// published ones.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub rows: Option<u32>,
    /// Prompt style that replaces the suites' own: `azr`, `chat`, `completion`, `evalplus_chat`, `few_shot`, `plain`, `plain_chat` or
    /// `seedling`.
    #[serde(default)]
    pub prompts: Option<String>,
    /// Softmax temperature that replaces the suites' own; 0 is greedy.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = MAX_TEMPERATURE))]
    pub temperature: Option<f64>,
    /// Nucleus sampling probability (top_p) that replaces the suites' own.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub top_p: Option<f64>,
    /// Maximum tokens per answer; replaces the suites' own limit.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// How the engine computes.
    #[serde(default)]
    pub compute: Compute,
}

fn yes() -> bool {
    true
}
