//! Takes the rows of a file into a dataset, one by one: reads, checks and filters them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::{collections::HashSet, sync::LazyLock};

use super::{FieldMap, Purpose, RowCheck, RowFault, RowFormat, SeedProblem, fingerprints};
use crate::benchmark::{
    Suite,
    format::{Expect, Format},
    reader::RowReader,
};

/// How the rows of a file are read.
#[derive(Clone, Debug)]
pub enum ReadAs {
    /// In Lyceum's own form.
    Lyceum,
    /// As the file of a suite.
    Suite(&'static Suite),
    /// In a named format.
    Format(&'static RowFormat),
    /// By a field map, which describes the format.
    Map(FieldMap, Box<Format>),
}

/// A field map says where values are, not what they look like.
static ANY: LazyLock<Expect> = LazyLock::new(Expect::default);

impl ReadAs {
    /// Its name in reports.
    fn name(&self) -> String {
        match self {
            Self::Lyceum => "lyceum".to_owned(),
            Self::Suite(suite) => format!("suite {}", suite.name),
            Self::Format(format) => format.name.clone(),
            Self::Map(map, _) => format!("map {}", map.oracle),
        }
    }

    fn reader(&self) -> Option<RowReader<'_>> {
        match self {
            Self::Lyceum => None,
            Self::Suite(suite) => Some(RowReader::of(suite)),
            Self::Format(format) => Some(RowReader {
                prefix: Some(&format.name),
                format: &format.format,
                expect: &format.expect,
            }),
            Self::Map(_, format) => Some(RowReader {
                prefix: None,
                format,
                expect: &ANY,
            }),
        }
    }
}

/// Which rows are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filters {
    /// Bytes that a question must have at least; for seeds, bytes of the program.
    pub min_question_bytes: Option<u64>,
    /// Bytes that a question may have at most.
    pub max_question_bytes: Option<u64>,
    /// Whether rows that ask what an earlier row asks are kept.
    pub keep_duplicates: bool,
}

/// What an import read, and what it left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportReport {
    /// How rows were read: `lyceum`, the name of a format, `suite` and a suite's name, or `map` and a kind of oracle.
    pub format: String,
    /// The columns of a field map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<std::collections::BTreeMap<String, String>>,
    /// Rows read.
    pub read: u64,
    /// Rows kept.
    pub kept: u64,
    /// Rows left out because an earlier row asks the same.
    pub duplicates: u64,
    /// Rows left out because their question is too short.
    pub too_short: u64,
    /// Rows left out because their question is too long.
    pub too_long: u64,
}

/// The rows of a file on their way into a dataset.
#[derive(Debug)]
pub struct Intake {
    purpose: Purpose,
    read_as: ReadAs,
    filters: Filters,
    check: RowCheck,
    seen: HashSet<[u8; 32]>,
    report: ImportReport,
}

impl Intake {
    /// For rows of `purpose`, and of `suite` where they belong to one.
    pub fn new(purpose: Purpose, suite: Option<&'static Suite>, read_as: ReadAs, filters: Filters) -> Self {
        let map = match &read_as {
            ReadAs::Map(map, _) => Some(map.columns.clone()),
            _ => None,
        };
        Self {
            purpose,
            check: RowCheck::new(purpose, suite),
            report: ImportReport {
                format: read_as.name(),
                map,
                ..ImportReport::default()
            },
            read_as,
            filters,
            seen: HashSet::new(),
        }
    }

    /// Takes the row on a line of the file: as it is stored, or nothing if a filter leaves it out.
    ///
    /// # Errors
    /// Why the row cannot be imported.
    pub fn take(&mut self, line: usize, text: &[u8]) -> Result<Option<Value>, RowFault> {
        let index = usize::try_from(self.report.read).unwrap_or(usize::MAX);
        let row = self.row(index, text).map_err(RowFault::Row)?;
        if holds_nul(&row) {
            return Err(RowFault::Row("the character U+0000 cannot be stored".to_owned()));
        }
        let problem = self.check.valid(line, &row).map_err(RowFault::Row)?;
        self.report.read += 1;
        let asked = match &problem {
            Some(problem) => &problem.question,
            None => row["snippet"].as_str().unwrap_or_default(),
        };
        let bytes = asked.len() as u64;
        if self.filters.min_question_bytes.is_some_and(|least| bytes < least) {
            self.report.too_short += 1;
            return Ok(None);
        }
        if self.filters.max_question_bytes.is_some_and(|most| bytes > most) {
            self.report.too_long += 1;
            return Ok(None);
        }
        if !self.filters.keep_duplicates && !self.seen.insert(self.identity(&row)) {
            self.report.duplicates += 1;
            return Ok(None);
        }
        if let Some(problem) = problem {
            self.check.unique(line, problem.task_id)?;
        }
        self.report.kept += 1;
        Ok(Some(row))
    }

    /// What was read so far.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }

    fn row(&self, index: usize, text: &[u8]) -> Result<Value, String> {
        match self.read_as.reader() {
            Some(reader) => {
                let row = reader.read(text, index)?;
                serde_json::to_value(row).map_err(|error| error.to_string())
            }
            None => {
                let row: Map<String, Value> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
                Ok(Value::Object(row))
            }
        }
    }

    /// The hash that duplicates share.
    fn identity(&self, row: &Value) -> [u8; 32] {
        // Seeds about one program overlap, but with other inputs they are not the same.
        if self.purpose == Purpose::Seeds
            && let Ok(seed) = SeedProblem::deserialize(row)
            && let Ok(text) = serde_json::to_vec(&seed)
        {
            return Sha256::digest(text).into();
        }
        fingerprints(row).question
    }
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, field)| name.contains('\0') || holds_nul(field)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
