//! Reads a suite's own file line by line. All faults are reported at once, by line, and a file with faults is rejected
//! whole.

mod code;
mod line;
mod python;
mod questions;
#[cfg(test)]
mod tests;
mod triple;

pub use self::code::{NotADate, Window};
pub(crate) use self::line::not_json;
pub use self::line::{LONGEST_LINE, Lines, RowReader};

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead, Read as _};
use std::{fmt, io};

use self::line::Line;
use super::{BenchmarkRow, Suite};

/// A fault in a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFault {
    /// The line, from 1.
    pub line: usize,
    /// The fault, and what would be valid.
    pub detail: String,
}

/// The file was refused; lists all its faults.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// The faults, in line order.
    pub faults: Vec<LineFault>,
}

/// Maximum number of faults listed in a message.
const LISTED: usize = 20;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, LineFault { line, detail }) in self.faults.iter().take(LISTED).enumerate() {
            write!(f, "{}line {line}: {detail}", if index == 0 { "" } else { "\n" })?;
        }
        match self.faults.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more lines"),
        }
    }
}

/// The rows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteRows {
    /// The rows, in file order.
    pub rows: Vec<BenchmarkRow>,
    /// Rows outside the date window.
    pub outside: usize,
    /// Notices for the user, such as missing rows.
    pub notices: Vec<String>,
}

/// Totals of a file whose rows were passed on one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Rows kept.
    pub rows: usize,
    /// Rows outside the date window.
    pub outside: usize,
    /// Notices for the user, such as missing rows.
    pub notices: Vec<String>,
}

/// Why reading a file stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file does not match the suite.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Reading the file or keeping a row failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads a file of `suite`: one JSON object per line, in UTF-8.
///
/// # Errors
/// Every line that is not a row of the suite.
pub fn read(suite: &Suite, bytes: &[u8], window: &Window) -> Result<SuiteRows, Refused> {
    let mut rows = Vec::new();
    let counted = each(suite, bytes, window, |row| {
        rows.push(row);
        Ok(())
    });
    match counted {
        Ok(Counted { outside, notices, .. }) => Ok(SuiteRows { rows, outside, notices }),
        Err(ReadError::Refused(refused)) => Err(refused),
        // Reading from memory cannot fail.
        Err(ReadError::Io(error)) => Err(Refused::whole(error.to_string())),
    }
}

/// Reads a file of `suite` and passes each row to `keep` as soon as it is read, so only one line is in memory. The rows
/// passed to `keep` count only if the whole file is read without error.
///
/// # Errors
/// Every line that is not a row of the suite, and any I/O error or error of `keep`.
pub fn each(
    suite: &Suite,
    file: impl BufRead,
    window: &Window,
    mut keep: impl FnMut(BenchmarkRow) -> io::Result<()>,
) -> Result<Counted, ReadError> {
    let (mut rows, mut outside) = (0, 0);
    let mut faults: Vec<LineFault> = Vec::new();
    let mut first_lines: HashMap<String, usize> = HashMap::new();
    let mut lines = Lines::new(file);
    loop {
        let (number, line) = match lines.next_line() {
            Ok(Some(next)) => next,
            Ok(None) => break,
            Err(ReadError::Refused(refused)) => {
                faults.extend(refused.faults);
                break;
            }
            Err(error) => return Err(error),
        };
        let read = Line::read(line).and_then(|line| {
            let row = row(suite, &line, rows + outside)?;
            let is_inside = window.takes(&line)?;
            match first_lines.get(&row.task_id) {
                Some(first) => Err(format!("task_id `{}` is already on line {first}", row.task_id)),
                None => Ok((row, is_inside)),
            }
        });
        match read {
            Ok((row, is_inside)) => {
                first_lines.insert(row.task_id.clone(), number);
                match is_inside {
                    // After a fault the rest is only checked for further faults.
                    true if faults.is_empty() => keep(row)?,
                    _ => {}
                }
                *if is_inside { &mut rows } else { &mut outside } += 1;
            }
            Err(mut detail) => {
                if faults.is_empty() {
                    detail.push_str(&hint(suite, line));
                }
                faults.push(LineFault { line: number, detail });
            }
        }
    }
    if !faults.is_empty() {
        return Err(Refused { faults }.into());
    }
    if rows == 0 {
        let detail = match outside {
            0 => format!("the file is empty; `{}` has a JSON object on each line", suite.name),
            _ => format!("all {outside} rows are outside the date window"),
        };
        return Err(Refused::whole(detail).into());
    }
    let mut notices = Vec::new();
    if let Some(complete) = suite.rows.filter(|&complete| complete as usize != rows) {
        notices.push(format!(
            "{} has {complete} rows and this file {rows}: scores on it are not the published ones",
            suite.title
        ));
    }
    Ok(Counted { rows, outside, notices })
}

/// A problem of self-play in a dataset. Without `task_id` it is named by its `place`.
///
/// # Errors
/// What is missing or wrong, by field.
pub fn self_play(place: usize, row: &serde_json::Value) -> Result<BenchmarkRow, String> {
    let line = Line::read(row.to_string().as_bytes())?;
    let task_id = if line.has("task_id") { line.filled("task_id")? } else { place.to_string() };
    triple::problem(&line, task_id)
}

impl Refused {
    /// A fault of the whole file.
    fn whole(detail: String) -> Self {
        Self { faults: vec![LineFault { line: 1, detail }] }
    }
}

/// The file as text, decompressed if it is gzip.
///
/// # Errors
/// Damaged gzip data.
pub fn unpacked(bytes: &[u8]) -> io::Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut text)?;
    Ok(Cow::Owned(text))
}

/// The lines that are not blank, numbered from 1.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    (1..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty())
}

fn row(suite: &Suite, line: &Line, index: usize) -> Result<BenchmarkRow, String> {
    RowReader::of(suite).row(line, index)
}

/// Names the suite that the line may belong to instead; empty if there is none.
fn hint(suite: &Suite, text: &[u8]) -> String {
    let Ok(line) = Line::read(text) else { return String::new() };
    let fitting: Vec<&str> = super::shipped_suites()
        .iter()
        .filter(|other| other.name != suite.name && row(other, &line, 0).is_ok())
        .map(|other| other.name.as_str())
        .collect();
    if fitting.is_empty() || row(suite, &line, 0).is_ok() {
        return String::new();
    }
    format!(" (this looks like a row of `{}`, not of `{}`)", fitting.join("` or `"), suite.name)
}
