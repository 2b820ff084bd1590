//! Datasets: what they are for, what their rows are, and when two rows ask the same.

mod field_map;
mod fingerprint;
mod format;
mod intake;
mod row;
mod trial;

pub use self::field_map::{FieldMap, MapField, OracleKind};
pub use self::fingerprint::{Fingerprints, fingerprints};
pub use self::format::{ReadAs, RowFormat, UnknownFormat, row_format, row_formats};
pub use self::intake::{BadRows, Filters, ImportReport, Intake};
pub use self::row::{RowCheck, RowFault, problem};
pub use self::trial::{TestFault, TestFaultKind, test_fault, trial};

use serde::{Deserialize, Serialize};
use std::fmt;

pub(crate) use self::row::check_python;
use crate::artifact::Digest;
use crate::id::DatasetId;
use crate::verify::ProblemKind;

/// What a dataset is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Purpose {
    /// Problems that proposers start from.
    Seeds,
    /// Hard problems that lemmas are made for (GASP).
    Goalposts,
    /// Problems to learn from.
    Training,
    /// Problems to measure with.
    Benchmark,
}

crate::named!(Purpose, "a purpose of datasets");

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
    /// The reward that scores answers in place of what rows name themselves, after the JSON pointer to its digest.
    pub reward: Option<(String, Digest)>,
    /// Whether rows may ask what a benchmark asks.
    pub allow_overlap: bool,
    /// What is allowed of the tests of its rows.
    pub tests: TestPolicy,
    /// The tag that every row needs.
    pub tag: Option<TagUse>,
}

/// A tag by which rows are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagUse {
    /// JSON pointer to the sampler.
    pub pointer: String,
    pub tag: String,
    /// Values that some rows need to have; where none is given, all are used.
    pub values: Vec<String>,
    /// How many rows each of the values needs, at least.
    pub rows: u32,
    /// How many of the last rows are not chosen from.
    pub held_out: u32,
}

/// What a config allows of rows whose tests were not tried, or cannot be used. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TestPolicy {
    /// Whether rows are used as they are.
    pub allow_unchecked: bool,
    /// Whether bad rows are left out.
    pub leave_out_bad_rows: bool,
}

/// A row of a seed file, with Absolute Zero's field names. Outputs are not read: they are computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedProblem {
    /// A program with a function `f`.
    pub snippet: String,
    /// One argument list: a seed for `code_i` and for `code_o`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Several argument lists: a seed for `code_f`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// The description for the solver of a `code_f` problem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl SeedProblem {
    /// Whether it has what a problem of any type is made of.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self) -> Result<(), String> {
        if self.snippet.trim().is_empty() {
            return Err("field `snippet` is empty".to_owned());
        }
        check_python("snippet", &self.snippet)?;
        if self.input.is_none() && (self.inputs.len() < 2 || self.message.is_none()) {
            return Err("a seed has `input`, or at least two `inputs` and a `message`".to_owned());
        }
        Ok(())
    }
}
