//! What the check of a dataset found.

use serde::{Deserialize, Serialize};

use crate::{dataset::TestFault, id::DatasetId};

/// Bad rows that a step of a check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatasetCheckRecord {
    pub dataset: DatasetId,
    /// The rows, by place from 0, and what is wrong with their tests.
    pub bad: Vec<(u32, TestFault)>,
    /// Whether all rows have been checked now.
    pub is_last: bool,
}
