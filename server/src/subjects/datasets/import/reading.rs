//! What an import is asked to do, and the reading of its rows.

use lyceum_core::benchmark::reader::{Lines, ReadError};
use lyceum_core::benchmark::{Suite, suite};
use lyceum_core::dataset::{Filters, ImportReport, Intake, Purpose, ReadAs, RowFault};
use lyceum_core::fault::Fault;
use lyceum_rows::{Joined, Text, json_lines};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::api_error::ApiError;
use crate::hub::{Address, NotAnAddress};
use crate::subjects::datasets::import::ImportDatasetQuery;
use crate::subjects::datasets::import::fetching::Fetched;

/// How a file is read, checked and filtered.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) purpose: Purpose,
    pub(crate) suite: Option<&'static Suite>,
    pub(crate) hub: Option<Address>,
    pub(crate) split: Option<String>,
    read_as: ReadAs,
    filters: Filters,
}

impl Plan {
    /// # Errors
    /// Every parameter that does not fit.
    pub(crate) fn of(asked: &ImportDatasetQuery) -> Result<Self, ApiError> {
        let mut faults: Vec<(String, String)> = Vec::new();
        let mut fault = |parameter: &str, detail: String| faults.push((parameter.to_owned(), detail));
        let purpose = Purpose::from(asked.purpose);
        let suite = asked.suite.as_deref().map(suite).transpose().unwrap_or_else(|unknown| {
            fault("suite", unknown.to_string());
            None
        });
        let hub = asked.hub.as_deref().map(str::parse).transpose();
        let hub = hub.unwrap_or_else(|wrong: NotAnAddress| {
            fault("hub", wrong.to_string());
            None
        });
        if asked.split.is_some() && asked.hub.is_none() {
            fault("split", "a split is of a repository on the hub: set `hub` as well".to_owned());
        }
        let read_as = read_as(asked, suite, &mut fault);
        if purpose == Purpose::Seeds && !matches!(read_as, Some(ReadAs::Lyceum) | None) {
            fault(
                "purpose",
                "seeds are read in Lyceum's own form (`snippet`, `input`): leave `format` and `map` out".to_owned(),
            );
        }
        let filters = Filters {
            min_question_bytes: asked.min_question_bytes.map(u64::from),
            max_question_bytes: asked.max_question_bytes.map(u64::from),
            // A score on part of a suite is not a score on the suite.
            keep_duplicates: asked.keep_duplicates.unwrap_or(purpose == Purpose::Benchmark),
            skip_bad: asked.skip_bad,
        };
        if let Some(percent) = asked.skip_bad.filter(|percent| *percent > 100) {
            fault("skip_bad", format!("{percent} is no share of the rows: 0 to 100 percent are valid"));
        }
        if asked.skip_bad.is_some() && purpose == Purpose::Benchmark {
            fault(
                "skip_bad",
                "a score on part of a suite is not a score on the suite: leave it out for benchmarks".to_owned(),
            );
        }
        if let (Some(least), Some(most)) = (filters.min_question_bytes, filters.max_question_bytes)
            && least > most
        {
            fault("min_question_bytes", format!("{least} is more than `max_question_bytes`, {most}"));
        }
        match read_as {
            Some(read_as) if faults.is_empty() => {
                Ok(Self { purpose, suite, hub, split: asked.split.clone(), read_as, filters })
            }
            _ => Err(ApiError::invalid_query(faults)),
        }
    }

    pub(crate) fn intake(self) -> Intake {
        Intake::new(self.purpose, self.suite, self.read_as, self.filters)
    }
}

fn read_as(
    asked: &ImportDatasetQuery,
    suite: Option<&'static Suite>,
    fault: &mut impl FnMut(&str, String),
) -> Option<ReadAs> {
    let columns = asked.map.as_deref().map(serde_json::from_str::<BTreeMap<String, String>>);
    let columns = columns.transpose().map_err(|error| {
        let example = r#"{"question": "problem", "gold": "answer"}"#;
        fault("map", format!("it is not a JSON object of columns by field, such as {example}: {error}"));
    });
    match ReadAs::asked(asked.format.as_deref(), suite, asked.oracle, columns.ok()?) {
        Ok(read_as) => Some(read_as),
        Err(faults) => {
            // That the suite is unknown was said already.
            let unsaid = |parameter| parameter != "suite" || asked.suite.is_none();
            for (parameter, detail) in faults.into_iter().filter(|(parameter, _)| unsaid(*parameter)) {
                fault(parameter, detail);
            }
            None
        }
    }
}

/// Bytes of rows passed on at a time.
const BATCH: usize = 8 << 20;
/// Different faults after which the rest is not read.
const FAULTS: usize = 100;

/// Where the rows come from.
pub(crate) enum Source {
    File(File),
    Hub(Fetched),
}

impl Source {
    /// The rows as lines, and the revision if the source knows it.
    fn open(self) -> Result<(Text<'static>, Option<String>), Unread> {
        match self {
            Self::File(file) => Ok((json_lines(BufReader::new(file))?, None)),
            Self::Hub(Fetched { files, revision }) => {
                let files = files.into_iter().map(|file| json_lines(BufReader::new(file)));
                Ok((Box::new(BufReader::new(Joined::new(files))), Some(revision)))
            }
        }
    }
}

/// Rows, each with its line.
pub(crate) type Batch = Vec<(Option<i32>, Value)>;

/// A file that is being read.
pub(crate) struct Reading {
    thread: JoinHandle<Result<Outcome, Unread>>,
    limit: usize,
}

/// What was read.
pub(crate) struct Outcome {
    pub(crate) report: ImportReport,
    pub(crate) revision: Option<String>,
}

/// Why a file was not read to its end.
enum Unread {
    Faults(Vec<Fault>),
    Io(io::Error),
    /// Nobody takes the rows any more.
    Unwanted,
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Reading {
    /// Reads the rows of `source`, at most `limit` bytes after unpacking, and sends them to `batches`.
    pub(crate) fn begin(source: Source, plan: Plan, limit: usize, batches: mpsc::Sender<Batch>) -> Self {
        let thread = tokio::task::spawn_blocking(move || -> Result<Outcome, Unread> {
            let (text, revision) = source.open()?;
            let text = Bounded { text, left: limit };
            let report = read(BufReader::new(text), plan.intake(), &batches)?;
            Ok(Outcome { report, revision })
        });
        Self { thread, limit }
    }

    /// The outcome, once the rows have been taken.
    pub(crate) async fn end(self) -> Result<Outcome, ApiError> {
        match self.thread.await {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(Unread::Faults(faults))) => Err(ApiError::invalid(faults)),
            Ok(Err(Unread::Io(error))) if error.kind() == io::ErrorKind::FileTooLarge => {
                Err(ApiError::too_large(self.limit))
            }
            Ok(Err(Unread::Io(error))) => {
                let detail = format!("the file cannot be read: {error}");
                Err(ApiError::invalid(vec![Fault::new("/rows", detail)]))
            }
            Ok(Err(Unread::Unwanted)) => Err(ApiError::internal(&"rows were read that nobody took")),
            // Only a library's panic at a damaged file can be the reason.
            Err(error) => {
                tracing::error!(%error, "reading a file of rows ended in a panic");
                let detail = "the file is damaged, or of a kind that cannot be read";
                Err(ApiError::invalid(vec![Fault::new("/rows", detail)]))
            }
        }
    }
}

fn read(text: impl io::BufRead, mut intake: Intake, batches: &mpsc::Sender<Batch>) -> Result<ImportReport, Unread> {
    let mut faults = LineFaults::default();
    let mut lines = Lines::new(text);
    let (mut batch, mut bytes) = (Vec::new(), 0);
    loop {
        let (line, text) = match lines.next_line() {
            Ok(Some(next)) => next,
            Ok(None) => break,
            Err(ReadError::Refused(refused)) => {
                for long in refused.faults {
                    faults.add(intake.report().read, long.line, long.detail);
                }
                break;
            }
            Err(ReadError::Io(error)) => return Err(Unread::Io(error)),
        };
        let index = intake.report().read;
        match intake.take(line, text) {
            Ok(None) => {}
            Ok(Some(row)) if faults.0.is_empty() => {
                batch.push((i32::try_from(line).ok(), row));
                bytes += text.len();
            }
            // After a fault the rest is only checked for others.
            Ok(Some(_)) => {}
            Err(fault) if intake.leave_out(line, &fault) => {}
            Err(RowFault::Row(detail)) => faults.add(index, line, detail),
            Err(RowFault::Repeated { task_id, first }) => {
                faults.add(index, line, format!("`{task_id}` is already the task of line {first}"));
            }
        }
        if faults.0.len() >= FAULTS {
            break;
        }
        if bytes >= BATCH {
            bytes = 0;
            let full = std::mem::take(&mut batch);
            batches.blocking_send(full).map_err(|_| Unread::Unwanted)?;
        }
    }
    let report = intake.report().clone();
    if !faults.0.is_empty() {
        return Err(Unread::Faults(faults.0.into_iter().map(Fault::from).collect()));
    }
    if let Some(detail) = intake.too_bad() {
        let reasons = report.reasons.iter().map(|reason| LineFault {
            index: reason.line.saturating_sub(1),
            line: usize::try_from(reason.line).unwrap_or_default(),
            detail: reason.detail.clone(),
            more: reason.rows - 1,
        });
        let all = [Fault::new("/rows", detail)].into_iter().chain(reasons.map(Fault::from));
        return Err(Unread::Faults(all.collect()));
    }
    if report.kept == 0 {
        let detail = match report.read {
            0 => "there are no rows; send one per line".to_owned(),
            read => format!("the filters leave none of {read} rows"),
        };
        return Err(Unread::Faults(vec![Fault::new("/rows", detail)]));
    }
    batches.blocking_send(batch).map_err(|_| Unread::Unwanted)?;
    Ok(report)
}

/// Different faults in the order of their first lines. A column that is not there is missing on every line.
#[derive(Default)]
struct LineFaults(Vec<LineFault>);

struct LineFault {
    index: u64,
    line: usize,
    detail: String,
    /// Later lines with the same fault.
    more: u64,
}

impl LineFaults {
    fn add(&mut self, index: u64, line: usize, detail: String) {
        match self.0.iter_mut().find(|fault| fault.detail == detail) {
            Some(fault) => fault.more += 1,
            None => self.0.push(LineFault { index, line, detail, more: 0 }),
        }
    }
}

impl From<LineFault> for Fault {
    fn from(fault: LineFault) -> Self {
        let LineFault { index, line, detail, more } = fault;
        let more = match more {
            0 => String::new(),
            1 => " (and so on one more line)".to_owned(),
            more => format!(" (and so on {more} more lines)"),
        };
        Self::new(format!("/rows/{index}"), format!("line {line}: {detail}{more}"))
    }
}

/// Fails where a file has unpacked to more than it may.
struct Bounded<R> {
    text: R,
    left: usize,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(out)?;
        self.left = self.left.checked_sub(read).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}
