//! `lyceum benchmark import`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use lyceum_core::benchmark::reader::{self, ReadError, Window};
use lyceum_core::benchmark::{Suite, suite};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::hub;
use crate::client::Client;

/// Import the rows of a suite from its own file
///
/// FILE is a file (plain or .gz), or `hf://datasets/OWNER/NAME[@REVISION]/FILE` on the Hugging Face hub. Every line is
/// checked; what is wrong is told by line, and then nothing is imported. Afterwards it is told which datasets that models learn from
/// ask the same.
#[derive(Args, Debug)]
pub(super) struct Import {
    /// The suite; `lyceum benchmark list` shows them
    suite: String,
    /// Its file, or its place on the hub [default: where the suite's description says, if it does]
    file: Option<String>,
    /// What to call the dataset [default: the suite's name and the start of the file's checksum]
    #[arg(long)]
    name: Option<String>,
    /// Which release of the file it is, where that is known
    #[arg(long)]
    revision: Option<String>,
    /// LiveCodeBench: the first day of contests that count, such as 2024-10-01
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// LiveCodeBench: the last day of contests that count
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    /// Check the file and import nothing; no server is needed
    #[arg(long)]
    dry_run: bool,
}

/// A file that was read.
pub(super) struct Read {
    suite: &'static Suite,
    /// Its rows as they are stored, one a line.
    rows: File,
    source: String,
    revision: String,
    checksum: String,
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
            (None, None) => anyhow::bail!(
                "name the file of {}: its place on the hub is not known here",
                suite.title
            ),
        };
        let (mut file, source, revision) = match place.strip_prefix("hf://datasets/") {
            Some(path) => {
                let found = hub::download(path)?;
                (found.file, place.clone(), Some(found.revision))
            }
            None => {
                let name = Path::new(&place)
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned());
                let file = File::open(&place).with_context(|| format!("cannot read {place}"))?;
                (file, name.unwrap_or_default(), None)
            }
        };
        let mut hash = Sha256::new();
        io::copy(&mut file, &mut hash).with_context(|| format!("cannot read {place}"))?;
        let checksum: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        file.rewind()?;
        // Rows wait in a file, not in memory, for all of them to be found good.
        let mut kept = BufWriter::new(tempfile::tempfile().context("cannot make a file for the rows")?);
        let bar = progress(file.metadata()?.len());
        let text = reader::unpacking(BufReader::new(bar.wrap_read(file)));
        let text = text.with_context(|| format!("{place} is damaged"))?;
        let counted = reader::each(suite, text, &window, |row| {
            serde_json::to_writer(&mut kept, &row)?;
            kept.write_all(b"\n")
        });
        bar.finish_and_clear();
        let counted = counted.map_err(|error| match error {
            ReadError::Refused(refused) => anyhow::Error::from(refused)
                .context(format!("{place} is no file of {}; nothing was imported", suite.title)),
            ReadError::Io(error) => anyhow::Error::from(error).context(format!("{place} is damaged")),
        })?;
        let mut rows = kept.into_inner().map_err(io::IntoInnerError::into_error)?;
        rows.rewind()?;
        for notice in &counted.notices {
            eprintln!("note: {notice}");
        }
        let outside = match counted.outside {
            0 => String::new(),
            outside => format!(", {outside} outside of the window"),
        };
        eprintln!("{}: {} rows{outside}, sha256 {checksum}", suite.title, counted.rows);
        Ok(Read {
            suite,
            rows,
            source: match window.is_open() {
                true => source,
                false => format!("{source}, contests from {} to {}", day(&window.from), day(&window.to)),
            },
            revision: self
                .revision
                .clone()
                .or(revision)
                .unwrap_or_else(|| format!("sha256:{checksum}")),
            checksum,
        })
    }

    /// Sends the rows to the server, and says what they have in common with others.
    pub(super) fn send(&self, read: Read, client: &Client) -> anyhow::Result<ExitCode> {
        let name = self
            .name
            .clone()
            .unwrap_or_else(|| format!("{}-{:.12}", read.suite.name, read.checksum));
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let path = format!(
            "/api/v1/datasets/import?purpose=benchmark&suite={}&name={}&source={}&revision={}",
            encoded(&read.suite.name),
            encoded(&name),
            encoded(&read.source),
            encoded(&read.revision),
        );
        let made = client.post_lines(&path, &read.rows)?;
        let id = made["id"].as_str().context("the server's answer has no id")?;
        println!("{id}");
        let detail = client.get(&format!("/api/v1/datasets/{id}"))?;
        for overlap in detail["overlaps"].as_array().into_iter().flatten() {
            warn(overlap);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A bar over the bytes of a file; hidden where nobody would see it.
fn progress(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta} left") {
        bar.set_style(style);
    }
    bar
}

fn day(day: &Option<String>) -> &str {
    day.as_deref().unwrap_or("any day")
}

/// Rows that another dataset asks as well. What is measured with twice does no harm.
fn warn(overlap: &Value) {
    let text = |field: &str| overlap[field].as_str().unwrap_or_default();
    if text("purpose") != "benchmark" {
        eprintln!(
            "warning: {} rows ask what the dataset `{}` (for {}) asks: scores of models that learned from it mean nothing",
            overlap["rows"],
            text("name"),
            text("purpose")
        );
    }
}
