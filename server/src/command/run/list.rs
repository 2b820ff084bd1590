//! `lyceum run list`, `lyceum run results` and `lyceum run cost`.

use anyhow::{Context as _, bail};
use chrono::{DateTime, Utc};
use clap::{Args, ValueEnum};
use lyceum_core::compute::{ComputeAccount, WARM_UP_STEPS, compute_account};
use lyceum_core::verdict::Against;
use lyceum_store::benchmarks::RunResult;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use uuid::Uuid;

use crate::client::Client;
use crate::command::output::{Table, json_line};
use crate::frame::format;

/// List runs, newest first
///
///   lyceum run list --state running
///   lyceum run list --recipe azr --columns id,progress,valid_problems,name
///   lyceum run list --json | jq .tags
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct List {
    /// Only those in this state
    #[arg(long, value_parser = ["running", "paused", "completed", "failed", "cancelled"])]
    state: Option<String>,
    /// Only those of this recipe
    #[arg(long)]
    recipe: Option<String>,
    /// Only those of this experiment, by id
    #[arg(long)]
    experiment: Option<Uuid>,
    /// Runs whose configs differ only by their seed: the arm of a run
    #[arg(long)]
    arm: Option<String>,
    /// Only those with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only those whose name begins with this, whatever its case
    #[arg(long)]
    name: Option<String>,
    /// Maximum number of runs
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// What to show of each, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["id", "state", "progress", "recipe", "name"])]
    columns: Vec<Column>,
    /// Print each run as a line of JSON, with all its fields
    #[arg(long, conflicts_with = "columns")]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Column {
    Id,
    Name,
    State,
    /// The current step and the number of steps
    Progress,
    Stage,
    Recipe,
    Experiment,
    Arm,
    Seed,
    Preset,
    Tags,
    Problems,
    ValidProblems,
    Attempts,
    Matchups,
    Cells,
    ForkedFrom,
    CreatedAt,
    UpdatedAt,
    FinishedAt,
    Error,
}

impl Column {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn of(self, run: &Value) -> String {
        match self {
            Self::Progress => format!("{}/{}", run["step"], run["steps"]),
            _ => text(&run[self.name()]),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

impl List {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<()> {
        let experiment = self.experiment.map(|id| id.to_string());
        let filters = BTreeMap::from([
            ("state", self.state),
            ("recipe", self.recipe),
            ("experiment", experiment),
            ("arm", self.arm),
            ("tag", self.tag),
            ("name", self.name),
        ]);
        let given = filters.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let given: String =
            given.map(|(name, value)| format!("&{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))).collect();
        let runs = client.items(&format!("/api/v1/runs?{}", given.trim_start_matches('&')), self.limit)?;
        if self.json {
            return runs.iter().try_for_each(json_line);
        }
        let mut table = Table::new(self.columns.iter().map(|column| column.name()));
        for run in &runs {
            table.row(self.columns.iter().map(|column| column.of(run)));
        }
        table.print()
    }
}

/// Prints the results of the run `id`.
pub(super) fn results(client: &Client, id: Uuid, json: bool) -> anyhow::Result<()> {
    let answer = client.get(&format!("/api/v1/runs/{id}/results"))?;
    let items = answer["items"].as_array().context("the server sent no results")?;
    if json {
        return items.iter().try_for_each(json_line);
    }
    let headings = ["suite", "step", "rows", "n", "members", "pass@1 %", "difference, points", "from"];
    let mut table = Table::new(headings);
    for item in items {
        let result = RunResult::deserialize(item)?;
        let found = result.comparison();
        let from = match found.map(|found| found.against) {
            Some(Against::Base) => "base".to_owned(),
            Some(Against::Step(step)) => format!("step {step}"),
            None => "–".to_owned(),
        };
        table.row([
            result.suite.clone(),
            result.step.to_string(),
            result.rows.to_string(),
            result.n.to_string(),
            result.members.to_string(),
            format::share(&result.pass_at_1),
            found.as_ref().map_or_else(|| "–".to_owned(), format::difference),
            from,
        ]);
    }
    table.print()
}

/// The account as JSON: the finished steps, extrapolated to all that the run does itself; a fork begins after those that it
/// took over.
pub(super) fn cost(client: &Client, id: Uuid) -> anyhow::Result<Value> {
    let run = client.get(&format!("/api/v1/runs/{id}"))?;
    let mut ended: Vec<(u64, f64)> = Vec::new();
    let mut cursor = None;
    loop {
        let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let page = client.get(&format!("/api/v1/runs/{id}/steps?order=oldest&limit=100{after}"))?;
        ended.extend(page["items"].as_array().into_iter().flatten().filter_map(ended_step));
        cursor = page["next"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    let seconds: Vec<f64> = ended.iter().map(|(_, seconds)| *seconds).collect();
    let last = match ended.last() {
        Some((last, _)) if ended.len() > WARM_UP_STEPS => *last,
        _ => {
            bail!("the first {WARM_UP_STEPS} steps warm up and do not count, and {} of the run have ended", ended.len())
        }
    };
    let updates = client
        .get(&format!("/api/v1/runs/{id}/metrics?metrics=updates&run_alone=true&from={last}&to={last}&level=0"))?;
    let adapters =
        updates["rows"][0]["mean"][0].as_f64().context("the run does not say how many adapters a step updates")? as u32;
    let count = |field: &str| run[field].as_u64().unwrap_or(0);
    let steps = u32::try_from(count("steps").saturating_sub(count("forked_at_step"))).unwrap_or(u32::MAX);
    let account = compute_account(&seconds, adapters, steps).context("no step counts")?;
    Ok(told(&account, seconds.len(), adapters))
}

fn told(account: &ComputeAccount, steps: usize, adapters: u32) -> Value {
    json!({
        "steps_counted": steps - WARM_UP_STEPS,
        "adapters": adapters,
        "median_step_seconds": account.median_step_seconds,
        "run_seconds": account.extrapolated_seconds,
        "adapter_steps_per_hour": account.adapter_steps_per_hour,
    })
}

/// The number of a step and its duration in seconds; `None` if it has not ended.
fn ended_step(step: &Value) -> Option<(u64, f64)> {
    let at = |field: &str| step[field].as_str()?.parse::<DateTime<Utc>>().ok();
    let seconds = (at("finished_at")? - at("started_at")?).as_seconds_f64();
    Some((step["step"].as_u64()?, seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_column_but_progress_is_a_field_of_a_run() {
        let description = serde_json::to_value(crate::openapi::document()).unwrap();
        let run = &description["components"]["schemas"]["Run"]["properties"];
        for column in Column::value_variants() {
            assert!(*column == Column::Progress || run.get(column.name()).is_some(), "{column:?}");
        }
        let run = json!({"step": 1, "steps": 9, "tags": ["a", "b"], "error": null});
        let shown = [Column::Progress, Column::Tags, Column::Error].map(|column| column.of(&run));
        assert_eq!(shown, ["1/9", "a,b", ""]);
    }

    #[test]
    fn a_step_counts_once_it_has_ended() {
        let open = json!({"step": 7, "started_at": "2026-01-01T00:00:00Z", "finished_at": null});
        let ended = json!({"step": 6, "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:05.250Z"});
        assert_eq!((ended_step(&open), ended_step(&ended)), (None, Some((6, 5.25))));
    }

    #[test]
    fn the_account_names_what_it_counted() {
        let account = compute_account(&[9.0, 9.0, 9.0, 9.0, 9.0, 2.0, 4.0], 8, 200).unwrap();
        let told = told(&account, 7, 8);
        assert_eq!((&told["steps_counted"], &told["run_seconds"]), (&json!(2), &json!(600.0)));
    }
}
