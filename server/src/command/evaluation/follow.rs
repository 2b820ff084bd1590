//! Waiting for an evaluation.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::client::Client;
use crate::command::output::json;

/// Waits for the end and prints the result as JSON.
pub(super) fn follow(client: &Client, id: &str) -> anyhow::Result<ExitCode> {
    json(&wait(client, id)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Waits for the end, with a progress bar over the work items planned so far; the result.
pub(crate) fn wait(client: &Client, id: &str) -> anyhow::Result<Value> {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {msg} {pos}/{len} items {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    loop {
        let evaluation = client.get(&format!("/evaluations/{id}.json"))?;
        let number = |name: &str| evaluation[name].as_u64().unwrap_or_default();
        if number("steps") > 1 {
            bar.set_message(format!("step {}/{}", number("step") + 1, number("steps")));
        }
        bar.set_length(number("step_items").max(1));
        bar.set_position(number("step_ended"));
        match evaluation["state"].as_str().unwrap_or_default() {
            "running" | "paused" => std::thread::sleep(Duration::from_secs(1)),
            "completed" => {
                bar.finish_and_clear();
                return Ok(evaluation["result"].clone());
            }
            state => {
                bar.finish_and_clear();
                let reason = evaluation["error"].as_str().unwrap_or("no reason is given");
                bail!("the evaluation is {state}: {reason}");
            }
        }
    }
}
