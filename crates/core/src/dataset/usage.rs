//! Datasets that a run's config names.

use std::fmt;

use super::Purpose;
use crate::{id::DatasetId, verify::ProblemKind};

/// A dataset as a config names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatasetRef {
    /// By its id, as in every stored config.
    Id(DatasetId),
    /// By its name, which is looked up when the config is submitted.
    Name(String),
}

impl DatasetRef {
    /// The field of the config that names the dataset.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Id(_) => "id",
            Self::Name(_) => "name",
        }
    }
}

impl fmt::Display for DatasetRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => write!(f, "`{name}`"),
        }
    }
}

/// A dataset that a config names. A run is refused where it does not exist, is for something else, has too few rows or rows
/// of another kind, or shares questions with a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetUse {
    /// JSON pointer to the object of the config that names it, with the fields `id` or `name`, and `rows`.
    pub pointer: String,
    pub dataset: DatasetRef,
    /// What it has to be for.
    pub purpose: Purpose,
    /// The kinds that its problems may have; any where none is given.
    pub kinds: &'static [ProblemKind],
    /// Rows that are used, from the first; all where none is given.
    pub rows: Option<u32>,
    /// Whether rows may ask what a benchmark asks.
    pub allow_overlap: bool,
    /// What is allowed of the tests of its rows.
    pub tests: TestPolicy,
}

/// What a config allows of rows whose tests were not tried, or cannot be used. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestPolicy {
    /// Whether rows are used as they are.
    pub allow_unchecked: bool,
    /// Whether bad rows are left out.
    pub leave_out_bad_rows: bool,
}
