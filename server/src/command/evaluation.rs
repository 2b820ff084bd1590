//! `lyceum evaluation`.

mod follow;
mod frozen_side;
mod goalposts;
mod operator_retention;
mod regenerate;

pub(crate) use follow::wait;
pub(crate) use goalposts::Attempts;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::{Value, json};
use uuid::Uuid;

use super::output::{self, line};
use super::server_args::ServerArgs;
use crate::client::Client;
use crate::settings::CommonArgs;

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
    FrozenSide(frozen_side::FrozenSide),
    Goalposts(goalposts::Goalposts),
    OperatorRetention(operator_retention::OperatorRetention),
    Regenerate(regenerate::Regenerate),
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
            Action::Watch { id } => return follow::follow(&client, &id.to_string()),
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
        true => follow::follow(client, &id),
        false => {
            tell_how_to_watch(&id);
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Says how the progress of an evaluation is shown.
pub(crate) fn tell_how_to_watch(id: &str) {
    output::remark(format_args!(
        "it runs on the workers; `lyceum evaluation watch {id}` shows its progress"
    ));
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
        let [id, kind, state, run] = [
            &evaluation["id"],
            &evaluation["spec"]["type"],
            &evaluation["state"],
            &evaluation["run_id"],
        ]
        .map(text);
        line(format!("{id}  {kind:18}  {state:9}  {run}"))?;
    }
    Ok(())
}
