//! What an evaluation was resolved to: exact rows, exact weights.

use serde::{Deserialize, Serialize};

use crate::{
    benchmark::{PromptStyle, Protocol, SubjectRole, suite},
    config::RunConfig,
    contract::PlanError,
    fault::{Fault, Faults},
    id::{DatasetId, ExecutionId, MemberId},
    work::{AdapterRef, BaseModel, Compute},
};

/// What is measured, on what, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkParameters {
    /// The suites, each of them a step.
    pub suites: Vec<SuiteSlice>,
    /// A model whose answers are measured.
    pub subjects: Vec<BenchmarkSubject>,
    /// Samples a row.
    pub n: u32,
    /// How the engine computes.
    #[serde(default)]
    pub compute: Compute,
    /// Samples that one item generates, at most, unless those of a single row are more.
    pub samples_per_item: u32,
}

/// Rows of a suite and how they are asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteSlice {
    pub suite: String,
    /// The name of its results, if not the suite's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The imported rows.
    pub dataset: DatasetId,
    /// The number of rows, from the first.
    pub rows: u32,
    /// Samples a row, if not those of the evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// How models are asked.
    pub protocol: Protocol,
}

impl SuiteSlice {
    /// The name of its results.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.suite)
    }

    /// Why its rows cannot be asked for `n` samples each.
    pub(crate) fn misfits(&self, n: u32) -> Vec<String> {
        let mut found = Vec::new();
        if self.rows == 0 {
            found.push(format!("`{}` has no rows", self.suite));
        }
        found.extend(self.protocol.misfit(n));
        match (suite(&self.suite), PromptStyle::shipped(&self.protocol.prompts)) {
            (Ok(suite), Ok(style)) => found.extend(style.misfit(suite)),
            (suite, style) => {
                found.extend(suite.err().map(|error| error.to_string()));
                found.extend(style.err().map(|error| error.to_string()));
            }
        }
        found
    }
}

/// A model whose answers are measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkSubject {
    /// The name shown to people.
    pub name: String,
    /// Its role in the evaluation.
    pub role: SubjectRole,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<ExecutionId>,
    /// The member of that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberId>,
    /// Steps of the run that its weights have seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The frozen base.
    pub base_model: BaseModel,
    /// The adapter; none is the base alone, or a merged model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterRef>,
}

impl BenchmarkParameters {
    /// Reads and checks parameters.
    ///
    /// # Errors
    /// Every fault.
    pub(super) fn read(value: &serde_json::Value) -> Result<Self, Faults> {
        let parameters: Self = serde_json::from_value(value.clone())
            .map_err(|error| Faults(vec![Fault::new("/parameters", error.to_string())]))?;
        let mut faults = Vec::new();
        let mut fault =
            |pointer: &str, detail: String| faults.push(Fault::new(format!("/parameters/{pointer}"), detail));
        if parameters.suites.is_empty() {
            fault("suites", "there is no suite to measure with".to_owned());
        }
        if parameters.subjects.is_empty() {
            fault("subjects", "there is nobody to measure".to_owned());
        }
        let is_none = |slice: &SuiteSlice| slice.n == Some(0);
        if parameters.n == 0 || parameters.samples_per_item == 0 || parameters.suites.iter().any(is_none) {
            fault("n", "0 samples: 1 is the least".to_owned());
        }
        for (at, slice) in parameters.suites.iter().enumerate() {
            for misfit in slice.misfits(slice.n.unwrap_or(parameters.n)) {
                fault(&format!("suites/{at}"), misfit);
            }
        }
        Faults(faults).or(parameters)
    }

    /// Those of a resolved config.
    pub(super) fn of(config: &RunConfig) -> Result<Self, PlanError> {
        Ok(Self::deserialize(&config.parameters)?)
    }
}
