//! Evaluations of type `dataset_check`.

use serde::{Deserialize, Serialize};

/// Tries the tests of a dataset's rows with an empty program, which must fail them, and with the row's canonical solution,
/// which must pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasetCheckSpec {
    /// The dataset, by name or id.
    #[schemars(length(min = 1, max = 200))]
    pub dataset: String,
}
