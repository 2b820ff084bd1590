//! Datasets that a run's config names.

use super::Purpose;
use crate::id::DatasetId;

/// A dataset that a config names. A run is refused where it does not exist, is for something else, has too few rows, or shares
/// questions with a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetUse {
    /// JSON pointer to the object of the config that names it; its id is the field `id` there, and `rows` how many are used.
    pub pointer: String,
    /// The dataset.
    pub dataset: DatasetId,
    /// What it has to be for.
    pub purpose: Purpose,
    /// Rows that are used, from the first; all where none is given.
    pub rows: Option<u32>,
    /// Whether rows may ask what a benchmark asks.
    pub allow_overlap: bool,
}
