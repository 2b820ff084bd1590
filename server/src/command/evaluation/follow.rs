//! Waiting for an evaluation.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use crate::{
    client::Client,
    command::output::{json, remark},
    frame::format,
};

/// Time between two lines about the progress where there is no terminal for a bar.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Parts of an item that the bar shows.
const PARTS: f64 = 100.0;

/// Waits for the end and prints the result as JSON.
pub(super) fn follow(client: &Client, id: &str) -> anyhow::Result<ExitCode> {
    json(&wait(client, id)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Waits for the end; the result. Shows a bar over the work items planned so far and those in progress, or writes a line now
/// and then.
pub(crate) fn wait(client: &Client, id: &str) -> anyhow::Result<Value> {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    let mut last_line = (Instant::now(), String::new());
    loop {
        let evaluation = client.get(&format!("/evaluations/{id}.json"))?;
        match evaluation["state"].as_str().unwrap_or_default() {
            "running" | "paused" => {}
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
        let running = client.get(&format!("/api/v1/work?evaluation={id}&state=running"))?;
        let running = running["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        let items = evaluation["step_items"].as_u64().unwrap_or_default().max(1);
        bar.set_length((items as f64 * PARTS) as u64);
        bar.set_position((done(&evaluation, running) * PARTS) as u64);
        let told = told(&evaluation, running);
        if !std::io::stderr().is_terminal() && last_line.0.elapsed() >= BETWEEN_LINES && last_line.1 != told {
            remark(&told);
            last_line = (Instant::now(), told.clone());
        }
        bar.set_message(told);
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Items of the step that are done, with the shares of those in progress.
fn done(evaluation: &Value, running: &[Value]) -> f64 {
    let shares = running.iter().filter_map(|item| item["progress"].as_f64());
    evaluation["step_ended"].as_f64().unwrap_or_default() + shares.sum::<f64>()
}

/// The progress in words.
fn told(evaluation: &Value, running: &[Value]) -> String {
    let number = |name: &str| evaluation[name].as_u64().unwrap_or_default();
    let mut parts = Vec::new();
    if number("steps") > 1 {
        let part = match evaluation["spec"]["type"].as_str() {
            Some("benchmark") => "suite",
            _ => "step",
        };
        parts.push(format!("{part} {} of {}", number("step") + 1, number("steps")));
    }
    parts.push(format!("{} of {} items", number("step_ended"), number("step_items")));
    parts.push(match running {
        _ if evaluation["state"] == "paused" => "paused".to_owned(),
        [] if number("step_ended") < number("step_items") => "waiting for a worker".to_owned(),
        [] => "being planned".to_owned(),
        [one, ..] => {
            let kind = one["kind"].as_str().unwrap_or_default();
            let share = one["progress"]
                .as_f64()
                .map(|share| format!(" {}", format::percent(&share)));
            let note = one["progress_note"].as_str().map(|note| format!(", {note}"));
            format!("{kind}{}{}", share.unwrap_or_default(), note.unwrap_or_default())
        }
    });
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_in_progress_count_in_part() {
        let evaluation = json!({
            "state": "running", "steps": 2, "step": 0, "step_items": 4, "step_ended": 1, "spec": {"type": "benchmark"},
        });
        let running = [json!({"kind": "benchmark", "progress": 0.25, "progress_note": "8 of 32 answers"})];
        assert_eq!(done(&evaluation, &running), 1.25);
        let said = told(&evaluation, &running);
        for part in ["suite 1 of 2", "1 of 4 items", "25 %", "8 of 32 answers"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(told(&evaluation, &[]).contains("waiting for a worker"));
    }
}
