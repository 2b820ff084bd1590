//! `lyceum benchmark import`.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use clap::builder::PossibleValuesParser;
use lyceum_core::benchmark::reader::{self, ReadError, Window};
use lyceum_core::benchmark::{Suite, suite};
use lyceum_core::dataset::Purpose;

use crate::client::Client;
use crate::command::dataset::import::Upload;
use crate::command::dataset::row_file::RowFile;
use crate::command::output::remark;

const EXAMPLES: &str = "\
Examples:
  lyceum benchmark import humaneval HumanEval.jsonl.gz
  lyceum benchmark import gsm8k hf://datasets/openai/gsm8k/main --split test
  lyceum benchmark import gsm8k train.parquet --purpose training";

/// Import the rows of a suite from its own file
///
/// FILE is one JSON object per line, a JSON array of objects or Parquet (the first two also as gzip), or
/// `hf://datasets/OWNER/NAME[@REVISION][/FILE]` on the Hugging Face hub. Every line is checked; faults are reported by
/// line, and then nothing is imported. Afterwards, questions shared by training data and benchmarks are reported.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Import {
    /// The suite (see `lyceum benchmark list`)
    suite: String,
    /// Its file, or its address on the hub [default: that in the suite's description, if any]
    file: Option<String>,
    /// The split of a repository on the hub, such as test
    #[arg(long)]
    split: Option<String>,
    /// The purpose of the rows
    #[arg(long, default_value = Purpose::Benchmark.name(), value_parser = purposes())]
    purpose: String,
    /// The dataset's name [default: the suite's name and the start of the file's checksum]
    #[arg(long)]
    name: Option<String>,
    /// The file's release, if known
    #[arg(long)]
    revision: Option<String>,
    /// LiveCodeBench: the first day of contests that count, such as 2024-10-01
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// LiveCodeBench: the last day of contests that count
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// Do not wait until a worker has tried the tests of its rows
    #[arg(long)]
    no_wait: bool,
    /// Only check the file; no server is needed
    #[arg(long)]
    dry_run: bool,
}

/// A checked file.
pub(super) struct Read {
    suite: &'static Suite,
    /// Its rows as stored, one per line.
    rows: File,
    /// The default name of the dataset.
    name: String,
    source: String,
    revision: String,
}

impl Import {
    pub(super) fn is_dry(&self) -> bool {
        self.dry_run
    }

    /// Reads and checks the file.
    pub(super) fn read(&self) -> anyhow::Result<Read> {
        let suite = suite(&self.suite)?;
        let window = Window::new(self.from.as_deref(), self.to.as_deref())?;
        let place = match (&self.file, &suite.hub) {
            (Some(file), _) => file.clone(),
            (None, Some(hub)) => format!("hf://datasets/{}/{}", hub.repository, hub.file),
            (None, None) => anyhow::bail!("give the file of {}: its address on the hub is not known", suite.title),
        };
        let file = RowFile::open(&place, self.split.as_deref())?;
        // Rows are kept in a file, not in memory, until all have been checked.
        let mut kept = BufWriter::new(tempfile::tempfile().context("cannot create a file for the rows")?);
        let (text, bar) = file.text()?;
        let counted = reader::each(suite, text, &window, |row| {
            serde_json::to_writer(&mut kept, &row)?;
            kept.write_all(b"\n")
        });
        bar.finish_and_clear();
        let counted = counted.map_err(|error| match error {
            ReadError::Refused(refused) => anyhow::Error::from(refused)
                .context(format!("{place} is not a file of {}; nothing was imported", suite.title)),
            ReadError::Io(error) => anyhow::Error::from(error).context(format!("{place} is damaged")),
        })?;
        let mut rows = kept.into_inner().map_err(io::IntoInnerError::into_error)?;
        rows.rewind()?;
        let notices = counted.notices.iter().filter(|_| self.purpose == Purpose::Benchmark.name());
        for notice in notices {
            remark(format_args!("note: {notice}"));
        }
        let outside = match counted.outside {
            0 => String::new(),
            outside => format!(", {outside} outside of the window"),
        };
        eprintln!("{}: {} rows{outside}, sha256 {}", suite.title, counted.rows, file.checksum);
        Ok(Read {
            suite,
            rows,
            name: file.name(&suite.name),
            source: match window.is_open() {
                true => file.source.clone(),
                false => {
                    let [from, to] = [&window.from, &window.to].map(day);
                    format!("{}, contests from {from} to {to}", file.source)
                }
            },
            revision: self.revision.clone().unwrap_or_else(|| file.revision()),
        })
    }

    /// Sends the rows to the server and reports their overlap with others.
    pub(super) fn send(self, read: Read, client: &Client) -> anyhow::Result<ExitCode> {
        let upload = Upload {
            name: self.name.unwrap_or(read.name),
            purpose: &self.purpose,
            suite: Some(&read.suite.name),
            source: read.source,
            revision: read.revision,
            options: Vec::new(),
            no_wait: self.no_wait,
        };
        upload.send(&read.rows, client)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Rows of a suite have oracles, so they cannot be seeds.
fn purposes() -> PossibleValuesParser {
    let all = Purpose::ALL.into_iter().filter(|purpose| *purpose != Purpose::Seeds);
    PossibleValuesParser::new(all.map(Purpose::name))
}

fn day(day: &Option<String>) -> &str {
    day.as_deref().unwrap_or("any day")
}
