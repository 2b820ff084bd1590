//! Takes the rows of a file into a dataset, one by one: reads, checks and filters them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::HashSet;

use super::{Purpose, ReadAs, RowCheck, RowFault, SeedProblem, fingerprints};
use crate::benchmark::Suite;
use crate::benchmark::reader::not_json;
use crate::verify::null_spelling;

/// Which rows are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filters {
    /// Bytes that a question must have at least; for seeds, bytes of the program.
    pub min_question_bytes: Option<u64>,
    /// Bytes that a question may have at most.
    pub max_question_bytes: Option<u64>,
    /// Whether rows that ask what an earlier row asks are kept.
    pub keep_duplicates: bool,
    /// Percent of the rows that may be left out because they cannot be read; by default, none may be.
    pub skip_bad: Option<u32>,
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
    /// Rows left out because they cannot be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bad: u64,
    /// Why they cannot be read: the different reasons that were found first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<BadRows>,
}

/// Rows that cannot be read for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadRows {
    /// The line of the first.
    pub line: u64,
    /// Why.
    pub detail: String,
    pub rows: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Most bytes of a row, with its tests.
const MAX_ROW: usize = 64 << 20;
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
            report: ImportReport { format: read_as.name(), map, ..ImportReport::default() },
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
        if text.len() > MAX_ROW {
            return Err(RowFault::Row(format!("it has {} MiB: at most {} are valid", text.len() >> 20, MAX_ROW >> 20)));
        }
        let index = usize::try_from(self.report.read).unwrap_or(usize::MAX);
        let read = self.row(index, text).and_then(|row| Ok((self.check.valid(line, &row)?, row)));
        let read = read.map_err(|detail| if index == 0 { of_columns(text).unwrap_or(detail) } else { detail });
        let (problem, row) = read.map_err(RowFault::Row)?;
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

    /// Notes that the row on a line is left out, since it cannot be read; whether rows may be left out at all.
    pub fn leave_out(&mut self, line: usize, fault: &RowFault) -> bool {
        const REASONS: usize = 20;
        if self.filters.skip_bad.is_none() {
            return false;
        }
        let detail = match fault {
            RowFault::Row(detail) => {
                self.report.read += 1;
                detail.clone()
            }
            // It was read.
            RowFault::Repeated { .. } => "its `task_id` is that of an earlier row".to_owned(),
        };
        self.report.bad += 1;
        let reasons = &mut self.report.reasons;
        match reasons.iter().position(|reason| reason.detail == detail) {
            Some(known) => reasons[known].rows += 1,
            None if reasons.len() < REASONS => reasons.push(BadRows { line: line as u64, detail, rows: 1 }),
            None => {}
        }
        true
    }

    /// Why the file is refused although its bad rows are left out, if they are too many.
    pub fn too_bad(&self) -> Option<String> {
        let ImportReport { read, bad, .. } = self.report;
        let allowed = u64::from(self.filters.skip_bad?);
        (bad.saturating_mul(100) > read.saturating_mul(allowed))
            .then(|| format!("{bad} of {read} rows cannot be read, which is more than the {allowed} % of `skip_bad`"))
    }

    /// What was read so far.
    pub fn report(&self) -> &ImportReport {
        &self.report
    }

    fn row(&self, index: usize, text: &[u8]) -> Result<Value, String> {
        let row = match self.read_as.reader() {
            Some(reader) => {
                let row = reader.read(text, index)?;
                serde_json::to_value(row).map_err(|error| error.to_string())
            }
            None => own_form(text).map(Value::Object),
        }?;
        match holds_nul(&row) {
            true => Err("the character U+0000 cannot be stored".to_owned()),
            false => Ok(row),
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

/// A row in Lyceum's own form. NaN and infinities, which Python writes to JSON, can only be in columns that nobody reads.
fn own_form(text: &[u8]) -> Result<Map<String, Value>, String> {
    let text = std::str::from_utf8(text).map_err(|error| format!("it is not UTF-8: {error}"))?;
    serde_json::from_str(text).or_else(|error| {
        let read = null_spelling(text).and_then(|text| serde_json::from_str(&text).ok());
        read.ok_or_else(|| not_json(text, &error))
    })
}

/// That a file holds columns and not rows, as tools write a table by default: `{"problem": ["a?", "b?"], "answer": ["1", "2"]}`, or
/// with each column an object by row number.
fn of_columns(text: &[u8]) -> Option<String> {
    let fields: Map<String, Value> = serde_json::from_slice(text).ok()?;
    let length = |column: &Value| match column {
        Value::Array(values) => Some(values.len()),
        Value::Object(values) => values.contains_key("0").then_some(values.len()),
        _ => None,
    };
    let rows = length(fields.values().next()?).filter(|&rows| rows > 1)?;
    let are_columns = fields.len() > 1 && fields.values().all(|column| length(column) == Some(rows));
    are_columns.then(|| {
        let names: Vec<String> = fields.keys().take(10).map(|name| format!("`{name}`")).collect();
        format!(
            "it holds columns ({}) of {rows} values each, not rows: convert it, for example with pandas: \
             `read_json(FILE).to_json(OUT, orient=\"records\", lines=True)`",
            names.join(", ")
        )
    })
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(fields) => fields.iter().any(|(name, field)| name.contains('\0') || holds_nul(field)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
