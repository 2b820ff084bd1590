//! The dataset a recipe learns from, as named in a config.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    dataset::{DatasetUse, Purpose},
    id::DatasetId,
};

/// Rows to learn from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainingSet {
    /// The dataset.
    pub id: DatasetId,
    /// How many of its rows, from the first.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub rows: u32,
    /// Allow rows that ask what an imported benchmark asks. Scores on that benchmark then mean nothing.
    #[serde(default)]
    pub allow_overlap: bool,
}

impl TrainingSet {
    /// What the config at `pointer` asks of the dataset.
    pub fn usage(self, pointer: &str) -> DatasetUse {
        DatasetUse {
            pointer: pointer.to_owned(),
            dataset: self.id,
            purpose: Purpose::Training,
            rows: Some(self.rows),
            allow_overlap: self.allow_overlap,
        }
    }
}
