//! Sending rows to a server.

use std::fs::File;

use anyhow::Context as _;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::client::Client;
use crate::command::output::line;

/// The description of an uploaded dataset.
pub(in crate::command) struct Upload<'a> {
    pub(in crate::command) name: String,
    pub(in crate::command) purpose: &'a str,
    pub(in crate::command) suite: Option<&'a str>,
    pub(in crate::command) source: String,
    pub(in crate::command) revision: String,
}

impl Upload<'_> {
    /// Sends `rows`, one per line, prints the dataset's id, and warns of harmful overlaps.
    pub(in crate::command) fn send(&self, rows: &File, client: &Client) -> anyhow::Result<()> {
        let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let suite = self.suite.map(|suite| format!("&suite={}", encoded(suite)));
        let path = format!(
            "/api/v1/datasets/import?purpose={}&name={}&source={}&revision={}{}",
            self.purpose,
            encoded(&self.name),
            encoded(&self.source),
            encoded(&self.revision),
            suite.unwrap_or_default(),
        );
        let made = client.post_lines(&path, rows)?;
        line(made["id"].as_str().context("the server's response has no id")?)?;
        for overlap in made["overlaps"].as_array().into_iter().flatten() {
            if let Some(warning) = warning(self.purpose, overlap) {
                eprintln!("warning: {warning}");
            }
        }
        Ok(())
    }
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
