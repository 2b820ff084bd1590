//! `lyceum experiment watch`: a line whenever a run has ended.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use crate::client::Client;
use crate::command::output::{line, remark};

/// Between two looks at a sweep.
const EVERY: Duration = Duration::from_secs(5);

/// Tells how a sweep goes on until it ends or is paused.
pub(super) fn follow(client: &Client, id: Uuid) -> anyhow::Result<ExitCode> {
    let mut told = None;
    loop {
        let sweep = client.get(&format!("/api/v1/sweeps/{id}"))?;
        let count = |field: &str| sweep[field].as_i64().unwrap_or(0);
        let ended = count("completed") + count("failed");
        if told != Some(ended) {
            told = Some(ended);
            line(format_args!(
                "{ended} of {} runs have ended, {} in progress{}",
                count("runs"),
                count("open"),
                match count("failed") {
                    0 => String::new(),
                    failed => format!(", {failed} failed"),
                }
            ))?;
        }
        match sweep["state"].as_str().unwrap_or_default() {
            "running" => std::thread::sleep(EVERY),
            state => {
                remark(format_args!("{id} is {state}{}", reason(&sweep)));
                let is_good = state == "completed" && count("failed") == 0;
                return Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
        }
    }
}

fn reason(sweep: &Value) -> String {
    sweep["reason"]
        .as_str()
        .map_or(String::new(), |reason| format!(": {reason}"))
}
