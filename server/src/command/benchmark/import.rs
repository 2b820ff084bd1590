//! `lyceum benchmark import`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::artifact::Digest;
use lyceum_core::benchmark::reader::{self, SuiteRows, Window};
use lyceum_core::benchmark::{Suite, suite};
use serde_json::{Value, json};

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
    rows: SuiteRows,
    source: String,
    revision: String,
    checksum: Digest,
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
        let (bytes, source, revision) = match place.strip_prefix("hf://datasets/") {
            Some(path) => {
                let found = hub::download(path)?;
                (found.bytes, place.clone(), Some(found.revision))
            }
            None => {
                let name = Path::new(&place)
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned());
                let bytes = std::fs::read(&place).with_context(|| format!("cannot read {place}"))?;
                (bytes, name.unwrap_or_default(), None)
            }
        };
        let checksum = Digest::of(&bytes);
        let text = reader::unpacked(&bytes).with_context(|| format!("{place} is damaged"))?;
        let rows = reader::read(suite, &text, &window)
            .with_context(|| format!("{place} is no file of {}; nothing was imported", suite.title))?;
        for notice in &rows.notices {
            eprintln!("note: {notice}");
        }
        let outside = match rows.outside {
            0 => String::new(),
            outside => format!(", {outside} outside of the window"),
        };
        eprintln!("{}: {} rows{outside}, sha256 {checksum}", suite.title, rows.rows.len());
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
            .unwrap_or_else(|| format!("{}-{:.12}", read.suite.name, read.checksum.to_string()));
        let body = json!({
            "name": name,
            "purpose": "benchmark",
            "suite": read.suite.name,
            "source": read.source,
            "revision": read.revision,
            "rows": read.rows.rows,
        });
        let made = client.post("/api/v1/datasets", Some(&body))?;
        let id = made["id"].as_str().context("the server's answer has no id")?;
        println!("{id}");
        let detail = client.get(&format!("/api/v1/datasets/{id}"))?;
        for overlap in detail["overlaps"].as_array().into_iter().flatten() {
            warn(overlap);
        }
        Ok(ExitCode::SUCCESS)
    }
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
