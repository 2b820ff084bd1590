//! `lyceum-worker verify --rows`: tries the tests of a file of rows.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use lyceum_core::benchmark::reader::Lines;
use lyceum_core::benchmark::suite;
use lyceum_core::dataset::{Filters, Intake, OracleKind, Purpose, ReadAs, RowFault, problem, test_fault, trial};
use lyceum_core::verify::Task;
use lyceum_rows::json_lines;
use lyceum_verifier::Verifier;
use serde::Serialize;

use super::progress_bar;

/// Rows whose tests are in the pool at the same time, for each of its threads.
const ROWS_PER_JOB: usize = 16;

/// A file of rows, read as `lyceum dataset import` reads it.
#[derive(Debug, Args)]
pub(super) struct RowsArgs {
    /// File of rows whose tests are tried, as for `lyceum dataset import`.
    #[arg(long, value_name = "FILE", conflicts_with = "input")]
    pub(super) rows: Option<PathBuf>,
    /// How rows are read: a format such as kodcode, or `suite` for the own file of --suite [default: lyceum].
    #[arg(long, requires = "rows", value_name = "NAME")]
    format: Option<String>,
    /// The suite its rows belong to.
    #[arg(long, requires = "rows", value_name = "NAME")]
    suite: Option<String>,
    /// What judges the answers, for rows that are read by --map.
    #[arg(long, requires = "map", value_name = "KIND")]
    oracle: Option<OracleKind>,
    /// The column of a field; may be repeated.
    #[arg(long, requires = "oracle", value_name = "FIELD=COLUMN")]
    map: Vec<String>,
}

/// A row that cannot be used.
#[derive(Debug, Serialize)]
struct Bad {
    /// From 1.
    line: usize,
    task_id: Option<String>,
    reason: &'static str,
    message: String,
    #[serde(skip)]
    told: &'static str,
}

/// A row whose tests are to be tried.
struct Tried {
    line: usize,
    task_id: String,
    tasks: Vec<Task>,
}

impl RowsArgs {
    /// Tries the tests of the rows in `path`, and prints the bad rows, as JSON lines if they go to a file.
    ///
    /// # Errors
    /// The file cannot be read; there are bad rows.
    pub(super) fn run(&self, path: &Path, output: Option<&Path>, verifier: &Verifier) -> anyhow::Result<()> {
        let mut intake = self.intake()?;
        let cannot_read = || format!("cannot read {}", path.display());
        let file = File::open(path).with_context(cannot_read)?;
        let bar = progress_bar(file.metadata().ok().map(|metadata| metadata.len()));
        let mut lines = Lines::new(json_lines(bar.wrap_read(file)).with_context(cannot_read)?);
        let mut out = Report::to(output)?;
        let (mut rows, mut waiting) = (0, Vec::new());
        while let Some((line, text)) = lines.next_line().with_context(cannot_read)? {
            match intake.take(line, text) {
                Ok(Some(row)) => {
                    let place = u32::try_from(line).unwrap_or(u32::MAX);
                    let row = problem(line, &row).map_err(anyhow::Error::msg)?;
                    let tasks = trial(place, &row, None);
                    if !tasks.is_empty() {
                        let task_id = row.task_id;
                        waiting.push(Tried { line, task_id, tasks });
                    }
                }
                Ok(None) => {}
                Err(fault) => {
                    intake.leave_out(line, &fault);
                    out.bad(&bar, &unreadable(line, fault))?;
                }
            }
            if waiting.len() >= ROWS_PER_JOB * verifier.jobs() {
                rows += waiting.len();
                judge(verifier, &mut waiting, |bad| out.bad(&bar, &bad))?;
            }
        }
        rows += waiting.len();
        judge(verifier, &mut waiting, |bad| out.bad(&bar, &bad))?;
        bar.finish_and_clear();
        out.finish()?;
        let read = intake.report().read;
        match out.count {
            0 => eprintln!("{read} rows read, {rows} with tests, none is bad"),
            count => bail!("{count} of {read} rows are bad; {rows} have tests"),
        }
        Ok(())
    }

    fn intake(&self) -> anyhow::Result<Intake> {
        let suite = self.suite.as_deref().map(suite).transpose()?;
        let mut columns = BTreeMap::new();
        for pair in &self.map {
            let (field, column) = pair
                .split_once('=')
                .with_context(|| format!("--map {pair}: write FIELD=COLUMN, such as question=problem"))?;
            columns.insert(field.to_owned(), column.to_owned());
        }
        let columns = Some(columns).filter(|columns| !columns.is_empty());
        let read_as = ReadAs::asked(self.format.as_deref(), suite, self.oracle, columns).map_err(|faults| {
            let told: Vec<String> =
                faults.into_iter().map(|(option, detail)| format!("--{option}: {detail}")).collect();
            anyhow::anyhow!("{}", told.join("; "))
        })?;
        let filters = Filters { keep_duplicates: true, skip_bad: Some(100), ..Filters::default() };
        Ok(Intake::new(Purpose::Training, suite, read_as, filters))
    }
}

/// Tries the tests of rows, and empties the list.
fn judge(
    verifier: &Verifier,
    rows: &mut Vec<Tried>,
    mut report: impl FnMut(Bad) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let tasks: Vec<Task> = rows.iter_mut().flat_map(|row| row.tasks.clone()).collect();
    let mut verdicts = verifier.judge_all(tasks);
    for row in rows.drain(..) {
        let own: Vec<_> = verdicts.by_ref().take(row.tasks.len()).collect();
        if let Some(fault) = test_fault(&own) {
            report(Bad {
                line: row.line,
                task_id: Some(row.task_id),
                reason: fault.reason.name(),
                message: fault.message,
                told: fault.reason.told(),
            })?;
        }
    }
    Ok(())
}

fn unreadable(line: usize, fault: RowFault) -> Bad {
    Bad {
        line,
        task_id: None,
        reason: "unreadable",
        message: match fault {
            RowFault::Row(detail) => detail,
            RowFault::Repeated { task_id, first } => format!("`{task_id}` is already the task of line {first}"),
        },
        told: "cannot be read",
    }
}

/// Where bad rows are written to.
struct Report {
    out: Box<dyn Write>,
    is_json: bool,
    count: usize,
}

impl Report {
    fn to(path: Option<&Path>) -> anyhow::Result<Self> {
        let out: Box<dyn Write> = match path {
            Some(path) if path.as_os_str() != "-" => {
                let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
                Box::new(BufWriter::new(file))
            }
            _ => Box::new(io::stdout()),
        };
        Ok(Self { out, is_json: path.is_some(), count: 0 })
    }

    fn bad(&mut self, bar: &indicatif::ProgressBar, bad: &Bad) -> anyhow::Result<()> {
        self.count += 1;
        let line = if self.is_json { serde_json::to_string(bad)? } else { told(bad) };
        Ok(bar.suspend(|| writeln!(self.out, "{line}"))?)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// In words, on one line. What tests say is not trusted with the terminal.
fn told(bad: &Bad) -> String {
    let mut text = format!("line {}", bad.line);
    if let Some(task) = &bad.task_id {
        text.push_str(&format!(" ({})", task.escape_debug()));
    }
    text.push_str(": ");
    text.push_str(bad.told);
    if !bad.message.is_empty() {
        text.push_str(&format!(": {}", bad.message.escape_debug()));
    }
    text
}
