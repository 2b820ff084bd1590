//! Sending rows to a server.

use std::fs::File;

use anyhow::Context as _;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::check::after_import;
use super::row_file::bar;
use crate::client::Client;
use crate::command::output::{json_line, line, remark};

/// The description of an uploaded dataset.
pub(in crate::command) struct Upload<'a> {
    pub(in crate::command) name: String,
    pub(in crate::command) purpose: &'a str,
    pub(in crate::command) suite: Option<&'a str>,
    pub(in crate::command) source: String,
    pub(in crate::command) revision: String,
    /// Other parameters of the import.
    pub(in crate::command) options: Vec<(&'static str, String)>,
    /// Whether not to wait for the check of its tests.
    pub(in crate::command) no_wait: bool,
}

impl Upload<'_> {
    /// Sends `rows`, one per line, prints the dataset's id, and reports what was left out, harmful overlaps and bad tests.
    pub(in crate::command) fn send(&self, rows: &File, client: &Client) -> anyhow::Result<()> {
        let bar = bar(Some(rows.metadata()?.len()));
        let made = client.post_lines(&self.path(), &mut bar.wrap_read(rows));
        bar.finish_and_clear();
        let made = made?;
        told(&made["report"]).iter().for_each(remark);
        // The answer of a dry run.
        if let Some(rows) = made["rows"].as_array() {
            return rows.iter().try_for_each(json_line);
        }
        line(made["id"].as_str().context("the server's response has no id")?)?;
        for overlap in made["overlaps"].as_array().into_iter().flatten() {
            if let Some(warning) = warning(self.purpose, overlap) {
                remark(format_args!("warning: {warning}"));
            }
        }
        after_import(&made, client, self.no_wait)
    }

    fn path(&self) -> String {
        let mut query = vec![
            ("purpose", self.purpose),
            ("name", &self.name),
            ("source", &self.source),
            ("revision", &self.revision),
        ];
        query.extend(self.suite.map(|suite| ("suite", suite)));
        query.extend(self.options.iter().map(|(name, value)| (*name, value.as_str())));
        let encoded = query
            .iter()
            .map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
        format!("/api/v1/datasets/import?{}", encoded.collect::<Vec<_>>().join("&"))
    }
}

/// The report of an import in words: one line, and one for each reason of rows that cannot be read.
fn told(report: &Value) -> Vec<String> {
    let count = |field: &str| report[field].as_u64().unwrap_or_default();
    let dropped: Vec<String> = [
        ("duplicates", "that ask what an earlier row asks"),
        ("too_short", "with too short a question"),
        ("too_long", "with too long a question"),
        ("bad", "that cannot be read"),
    ]
    .iter()
    .map(|(field, why)| (count(field), why))
    .filter(|(count, _)| *count > 0)
    .map(|(count, why)| format!("{count} {why}"))
    .collect();
    let kept = format!("{} rows read, {} kept", count("read"), count("kept"));
    let mut lines = vec![match dropped.is_empty() {
        true => kept,
        false => format!("{kept}; left out: {}", dropped.join(", ")),
    }];
    let reasons = report["reasons"].as_array().into_iter().flatten();
    lines.extend(reasons.map(|reason| {
        let detail = reason["detail"].as_str().unwrap_or_default();
        format!("  line {}: {detail} (rows: {})", reason["line"], reason["rows"])
    }));
    lines
}

/// The warning about an overlap of rows for `purpose` with another dataset. Overlaps among benchmarks, or among
/// training data, are harmless.
fn warning(purpose: &str, overlap: &Value) -> Option<String> {
    let text = |field: &str| overlap[field].as_str().unwrap_or_default();
    let (rows, name, other) = (&overlap["rows"], text("name"), text("purpose"));
    match (purpose == "benchmark", other == "benchmark") {
        (true, false) => Some(format!(
            "{rows} rows have the same questions as the dataset `{name}` (for {other}): scores of models trained on it are meaningless"
        )),
        (false, true) => Some(format!(
            "{rows} rows have the same questions as the benchmark `{name}`: its scores are meaningless for models trained on them"
        )),
        _ => None,
    }
}
