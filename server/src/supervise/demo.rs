//! The demo run of a new data folder.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use serde_json::json;

use crate::client::Client;
use crate::lab::Presets;
use crate::settings::Secret;

const PRESET: &str = "demo";

/// Checks that there is a preset for the demo, before anything is created.
///
/// # Errors
/// There is none.
pub(crate) fn check(presets: Option<PathBuf>) -> anyhow::Result<()> {
    Presets::new(presets).get(PRESET).map(drop).map_err(|fault| anyhow!("{fault}; start without --demo"))
}

/// Creates the demo run on the server at `local` if it has no runs.
///
/// # Errors
/// The server's error.
pub(crate) async fn begin(local: String, token: Secret, data: &Path) -> anyhow::Result<()> {
    let client = Client::new(Some(local), Some(token), data)?;
    let begin = move || {
        let runs = client.get("/api/v1/runs?limit=1")?;
        if runs["items"].as_array().is_some_and(Vec::is_empty) {
            client.post("/api/v1/runs", Some(&json!({ "preset": PRESET })))?;
        }
        anyhow::Ok(())
    };
    tokio::task::spawn_blocking(begin).await.context("the demo run was not created")?
}
