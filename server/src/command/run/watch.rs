//! `lyceum run watch`: a line for each step, and a progress bar.

use std::process::ExitCode;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use uuid::Uuid;

use crate::client::{Client, ServerEvent};
use crate::command::output::{line, reader_has_gone, remark};
use crate::coordinator::step_log::step_figures;

/// Shows a run's progress until it ends, even if the server restarts.
pub(super) fn follow(client: &Client, id: Uuid) -> anyhow::Result<ExitCode> {
    const PATIENCE: u32 = 30;
    let run = client.get(&format!("/api/v1/runs/{id}"))?;
    let metrics = step_metrics(client, run["recipe"].as_str().unwrap_or_default());
    let bar = ProgressBar::new(run["steps"].as_u64().unwrap_or(0));
    let style = ProgressStyle::with_template("{msg} {wide_bar} step {pos} of {len} ({eta} to go)")?;
    bar.set_style(style);
    bar.set_position(run["step"].as_u64().unwrap_or(0));
    bar.set_message(run["state"].as_str().unwrap_or_default().to_owned());
    bar.enable_steady_tick(Duration::from_millis(200));
    let mut after = run["last_event"].as_i64().unwrap_or(0);
    let mut failures = 0;
    loop {
        let more = client.events(&format!("/api/v1/runs/{id}/events"), after, |event| {
            after = event.number;
            show(client, id, &metrics, &bar, &event)
        });
        match more {
            Ok(false) => break,
            Ok(true) => failures = 0,
            Err(error) if reader_has_gone(&error) => return Err(error),
            Err(error) => {
                failures += 1;
                if failures == PATIENCE {
                    return Err(error);
                }
            }
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    let run = client.get(&format!("/api/v1/runs/{id}"))?;
    let state = run["state"].as_str().unwrap_or_default();
    bar.finish_with_message(state.to_owned());
    // Not every recipe has an archive.
    let archive = match run["cells"].as_u64() {
        Some(cells) if cells > 0 => format!(", {cells} cells of the archive"),
        _ => String::new(),
    };
    line(format_args!(
        "{id} is {state} at step {} of {}: {} problems, {} of them valid, {} attempts{archive}",
        run["step"], run["steps"], run["problems"], run["valid_problems"], run["attempts"]
    ))?;
    if let Some(error) = run["error"].as_str() {
        remark(error);
    }
    Ok(if state == "completed" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The metrics that the recipe highlights in a step's line, as names and units; none if the server does not say.
fn step_metrics(client: &Client, recipe: &str) -> Vec<(String, String)> {
    let recipes = client.get("/api/v1/recipes").unwrap_or_default();
    let items = recipes["items"].as_array().into_iter().flatten();
    let own = items.filter(|item| item["name"] == recipe);
    let details = own.filter_map(|item| item["metric_details"].as_array()).flatten();
    let highlighted = details.filter(|metric| {
        let places = metric["highlights"].as_array();
        places.is_some_and(|places| places.iter().any(|place| place == "step_line"))
    });
    let text = |metric: &Value, field: &str| metric[field].as_str().unwrap_or_default().to_owned();
    highlighted.map(|metric| (text(metric, "name"), text(metric, "unit"))).collect()
}

fn show(
    client: &Client,
    id: Uuid,
    metrics: &[(String, String)],
    bar: &ProgressBar,
    event: &ServerEvent,
) -> anyhow::Result<()> {
    match event.kind.as_str() {
        "step_finished" => {
            let step = event.data["step"].as_u64().unwrap_or(0);
            bar.set_position(step + 1);
            // A missing line is not a reason to end the watch.
            let told = told(client, id, metrics, step).unwrap_or_default();
            bar.suspend(|| line(format_args!("step {}{told}", step + 1)))?;
        }
        "state" => bar.set_message(event.data["state"].as_str().unwrap_or_default().to_owned()),
        _ => {}
    }
    Ok(())
}

/// The figures of a step.
fn told(client: &Client, id: Uuid, highlighted: &[(String, String)], step: u64) -> anyhow::Result<String> {
    let metrics = client.get(&format!("/api/v1/runs/{id}/metrics?run_alone=true&from={step}&to={step}"))?;
    let value = |name: &str| -> Option<f64> {
        let names = metrics["metrics"].as_array()?;
        let place = names.iter().position(|known| known == name)?;
        metrics["rows"][0]["mean"][place].as_f64()
    };
    let row = client.get(&format!("/api/v1/runs/{id}/steps/{step}"))?;
    let highlighted = highlighted.iter().map(|(name, unit)| (name.as_str(), unit.as_str()));
    let figures = step_figures(highlighted, value, took(&row));
    Ok(if figures.is_empty() { String::new() } else { format!(": {figures}") })
}

fn took(step: &Value) -> Option<TimeDelta> {
    let at = |field: &str| step[field].as_str()?.parse::<DateTime<Utc>>().ok();
    Some(at("finished_at")? - at("started_at")?)
}
