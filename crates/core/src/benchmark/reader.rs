//! Reading a suite's own file, line by line. What is wrong is named by its line, all of it at once, and then nothing is read.

mod evalplus;
mod humaneval;
mod line;
mod livecodebench;
mod mathematics;
mod selfplay;

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    io::{self, BufRead, BufReader, Read as _},
};

use super::{
    BenchmarkRow, Suite,
    suite::{Expect, Format},
};
use line::Line;

pub use livecodebench::{NotADate, Window};

/// What is wrong with a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what would be valid.
    pub detail: String,
}

/// A file that was refused, with every fault of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// The faults, in the order of their lines.
    pub faults: Vec<LineFault>,
}

/// Faults that a message lists.
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
    /// The rows, in the file's order.
    pub rows: Vec<BenchmarkRow>,
    /// Rows that the window of dates left out.
    pub outside: usize,
    /// What a person should know, such as that rows are missing.
    pub notices: Vec<String>,
}

/// What a file came to whose rows were given on one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Rows that count.
    pub rows: usize,
    /// Rows that the window of dates left out.
    pub outside: usize,
    /// What a person should know, such as that rows are missing.
    pub notices: Vec<String>,
}

/// Why a file was not read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no file of the suite.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It cannot be read, or what takes its rows failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Bytes of a line, at most: Postgres stores no longer text within JSON.
pub const LONGEST_LINE: u64 = 256 << 20;

/// Reads a file of `suite`: a JSON object a line, in UTF-8.
///
/// # Errors
/// Every line that is no row of the suite.
pub fn read(suite: &Suite, bytes: &[u8], window: &Window) -> Result<SuiteRows, Refused> {
    let mut rows = Vec::new();
    let counted = each(suite, bytes, window, |row| {
        rows.push(row);
        Ok(())
    });
    match counted {
        Ok(Counted { outside, notices, .. }) => Ok(SuiteRows { rows, outside, notices }),
        Err(ReadError::Refused(refused)) => Err(refused),
        // Bytes in memory are read without an error.
        Err(ReadError::Io(error)) => Err(Refused::whole(error.to_string())),
    }
}

/// Reads a file of `suite` and gives each row to `keep` as soon as it is read, so that no more than a line of it is in memory.
/// What `keep` was given counts only if the whole file is read.
///
/// # Errors
/// Every line that is no row of the suite, and whatever stops reading or `keep`.
pub fn each(
    suite: &Suite,
    mut file: impl BufRead,
    window: &Window,
    mut keep: impl FnMut(BenchmarkRow) -> io::Result<()>,
) -> Result<Counted, ReadError> {
    let (mut rows, mut outside) = (0, 0);
    let mut faults: Vec<LineFault> = Vec::new();
    let mut first_lines: HashMap<String, usize> = HashMap::new();
    let mut text = Vec::new();
    for number in 1.. {
        text.clear();
        if file.by_ref().take(LONGEST_LINE + 1).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        if text.len() as u64 > LONGEST_LINE {
            let detail = format!(
                "it is longer than {} MiB, which no row of a benchmark is",
                LONGEST_LINE >> 20
            );
            faults.push(LineFault { line: number, detail });
            break;
        }
        let line = text.strip_suffix(b"\n").unwrap_or(&text);
        if line.trim_ascii().is_empty() {
            continue;
        }
        let read = Line::read(line).and_then(|line| {
            let row = row(suite, &line, rows + outside)?;
            let is_inside = window.takes(&line)?;
            match first_lines.get(&row.task_id) {
                Some(first) => Err(format!("task_id `{}` stands on line {first} already", row.task_id)),
                None => Ok((row, is_inside)),
            }
        });
        match read {
            Ok((row, is_inside)) => {
                first_lines.insert(row.task_id.clone(), number);
                match is_inside {
                    // After a fault the rest is only read for its faults.
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
            _ => format!("all {outside} rows are outside of the window of dates"),
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

impl Refused {
    /// A fault of the file as a whole.
    fn whole(detail: String) -> Self {
        Self {
            faults: vec![LineFault { line: 1, detail }],
        }
    }
}

/// The file as text: unpacked, where it is gzip.
///
/// # Errors
/// A damaged gzip.
pub fn unpacked(bytes: &[u8]) -> io::Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut text)?;
    Ok(Cow::Owned(text))
}

/// The text of a file: unpacked, where it is gzip.
///
/// # Errors
/// A file that cannot be read.
pub fn unpacking<'f>(mut file: impl BufRead + 'f) -> io::Result<Box<dyn BufRead + 'f>> {
    if !file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(file));
    }
    Ok(Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(file))))
}

/// Lines that are not blank, with their numbers from 1.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    (1..)
        .zip(bytes.split(|byte| *byte == b'\n'))
        .filter(|(_, line)| !line.trim_ascii().is_empty())
}

fn row(suite: &Suite, line: &Line, index: usize) -> Result<BenchmarkRow, String> {
    let row = match &suite.format {
        Format::HumanEval {} => humaneval::row(line),
        Format::EvalPlus {} => evalplus::row(line),
        Format::LiveCodeBench {} => livecodebench::row(line),
        Format::Math {
            question,
            gold,
            id,
            tags,
        } => mathematics::row(&suite.name, line, index, question, gold, id, tags),
        Format::SelfPlay {} => selfplay::row(line),
    }?;
    expected(&suite.expect, line)?;
    Ok(row)
}

fn expected(expect: &Expect, line: &Line) -> Result<(), String> {
    for name in &expect.required {
        if !line.has(name) {
            return Err(format!("missing field `{name}`"));
        }
    }
    for name in &expect.absent {
        if line.has(name) {
            return Err(format!("field `{name}` does not belong to a row of this suite"));
        }
    }
    for name in &expect.numeric {
        let text = line.plain(name)?;
        if text.trim().parse::<f64>().is_err() {
            return Err(format!(
                "field `{name}` is `{text}`, and the answers of this suite are numbers"
            ));
        }
    }
    let said = |name: &str| line.has(name).then(|| line.plain(name)).transpose();
    for name in &expect.empty {
        if let Some(text) = said(name)?.filter(|text| !text.is_empty()) {
            return Err(format!(
                "field `{name}` is `{text}`, and in this suite's rows it is empty"
            ));
        }
    }
    for (name, start) in &expect.prefix {
        if let Some(text) = said(name)?.filter(|text| !text.starts_with(start)) {
            return Err(format!(
                "field `{name}` is `{text}`, and in this suite it begins with `{start}`"
            ));
        }
    }
    for (name, part) in &expect.contains {
        if let Some(text) = said(name)?.filter(|text| !text.contains(part)) {
            return Err(format!(
                "field `{name}` is `{text}`, and in this suite it holds `{part}`"
            ));
        }
    }
    Ok(())
}

/// Whose file a line may be of, if not this suite's; empty where nobody's.
fn hint(suite: &Suite, text: &[u8]) -> String {
    let Ok(line) = Line::read(text) else {
        return String::new();
    };
    let fitting: Vec<&str> = super::shipped_suites()
        .iter()
        .filter(|other| other.name != suite.name && row(other, &line, 0).is_ok())
        .map(|other| other.name.as_str())
        .collect();
    if fitting.is_empty() || row(suite, &line, 0).is_ok() {
        return String::new();
    }
    format!(
        " (this looks like a row of `{}`, not of `{}`)",
        fitting.join("` or `"),
        suite.name
    )
}

#[cfg(test)]
mod tests;
