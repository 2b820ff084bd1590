//! `lyceum evaluation`, and waiting for one.

mod goalposts;
mod operator_retention;

use anyhow::{Context as _, bail};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use uuid::Uuid;

use crate::client::Client;
use crate::command::ServerArgs;
use crate::command::output::{self, json, line, remark};
use crate::frame::format;
use crate::settings::CommonArgs;

pub(crate) use goalposts::Attempts;

/// Evaluate frozen versions: work that does not affect runs
///
///   lyceum evaluation frozen-side --run RUN --steps 0,20,40 --watch
///   lyceum evaluation goalposts --run RUN --every 6 --watch
///   lyceum evaluation operator-retention --parent RUN --parent RUN --snapshot 25 --watch
///   lyceum evaluation regenerate --attempt ATTEMPT --watch
///   lyceum evaluation show EVALUATION --format csv
///
/// `lyceum benchmark evaluate` measures members on benchmarks.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Evaluation {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    FrozenSide(goalposts::FrozenSide),
    Goalposts(goalposts::Goalposts),
    OperatorRetention(operator_retention::OperatorRetention),
    Regenerate(Regenerate),
    /// List evaluations, newest first
    List {
        /// Only those of this run
        #[arg(long)]
        run: Option<Uuid>,
        /// Maximum number of evaluations
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
    },
    /// Show an evaluation and its result
    Show {
        /// The evaluation
        id: Uuid,
        /// The output format; benchmarks and cross-play have no CSV
        #[arg(long, value_enum, default_value_t = Format::Json)]
        format: Format,
    },
    /// Wait for the end and print the result; exits with 1 if it failed
    Watch {
        /// The evaluation
        id: Uuid,
    },
    /// Cancel an evaluation
    Cancel {
        /// The evaluation
        id: Uuid,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Json,
    Csv,
}

impl Evaluation {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        match self.action {
            Action::FrozenSide(frozen_side) => return frozen_side.run(&client),
            Action::Goalposts(goalposts) => return goalposts.run(&client),
            Action::OperatorRetention(retention) => return retention.run(&client),
            Action::Regenerate(regenerate) => return regenerate.run(&client),
            Action::Watch { id } => return follow(&client, &id.to_string()),
            Action::List { run, limit } => list(&client, run, limit)?,
            Action::Show { id, format } => show(&client, id, format)?,
            Action::Cancel { id } => {
                client.post(&format!("/api/v1/evaluations/{id}/cancel"), None)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Creates an evaluation, prints its id, and waits for its end if `watch` is set.
fn create(client: &Client, spec: &Value, seed: u64, watch: bool) -> anyhow::Result<ExitCode> {
    let id = begin(client, spec, seed)?;
    match watch {
        true => follow(client, &id),
        false => {
            tell_how_to_watch(&id);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Says how the progress of an evaluation is shown.
pub(crate) fn tell_how_to_watch(id: &str) {
    output::remark(format_args!("it runs on the workers; `lyceum evaluation watch {id}` shows its progress"));
}

/// Creates an evaluation, and prints and returns its id.
pub(crate) fn begin(client: &Client, spec: &Value, seed: u64) -> anyhow::Result<String> {
    let made = client.post("/api/v1/evaluations", Some(&json!({ "spec": spec, "seed": seed })))?;
    let id = made["id"].as_str().context("the server's response has no id")?;
    line(id)?;
    Ok(id.to_owned())
}

fn show(client: &Client, id: Uuid, format: Format) -> anyhow::Result<()> {
    let address = format!("/api/v1/evaluations/{id}");
    match format {
        Format::Json => output::json(&client.get(&address)?),
        Format::Csv => output::document(&client.text(&format!("{address}/export?format=csv"))?),
    }
}

fn list(client: &Client, run: Option<Uuid>, limit: u32) -> anyhow::Result<()> {
    line(format!("{:36}  {:18}  {:9}  RUN", "EVALUATION", "TYPE", "STATE"))?;
    let run = run.map(|run| format!("run={run}")).unwrap_or_default();
    for evaluation in client.items(&format!("/api/v1/evaluations?{run}"), limit)? {
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        let [id, kind, state, run] =
            [&evaluation["id"], &evaluation["spec"]["type"], &evaluation["state"], &evaluation["run_id"]].map(text);
        line(format!("{id}  {kind:18}  {state:9}  {run}"))?;
    }
    Ok(())
}

/// Time between two lines about the progress where there is no terminal for a bar.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Parts of an item that the bar shows.
const PARTS: f64 = 100.0;

/// Waits for the end and prints the result as JSON.
pub(crate) fn follow(client: &Client, id: &str) -> anyhow::Result<ExitCode> {
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
            let share = one["progress"].as_f64().map(|share| format!(" {}", format::percent(&share)));
            let note = one["progress_note"].as_str().map(|note| format!(", {note}"));
            format!("{kind}{}{}", share.unwrap_or_default(), note.unwrap_or_default())
        }
    });
    parts.join("; ")
}

/// Generate a recorded sample again, from its version, seed and settings, and show the difference
///
/// The whole work item that drew it is run again. The samples are equal on the machine and settings that made them.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("sample").required(true).args(["attempt", "problem"]))]
pub(crate) struct Regenerate {
    /// An attempt
    #[arg(long)]
    attempt: Option<Uuid>,
    /// A problem, to generate its proposal again
    #[arg(long)]
    problem: Option<Uuid>,
    /// Wait for the end and print the result; exits with 1 if it failed
    #[arg(long)]
    watch: bool,
}

impl Regenerate {
    pub(crate) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        let spec = match (self.attempt, self.problem) {
            (Some(attempt), _) => json!({"type": "regenerate", "attempt": attempt}),
            (None, problem) => json!({"type": "regenerate", "problem": problem}),
        };
        create(client, &spec, 0, self.watch)
    }
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
