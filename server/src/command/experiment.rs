//! `lyceum experiment`.

mod begin;
mod follow;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use uuid::Uuid;

use super::output::{json as print_json, line};
use super::server_args::ServerArgs;
use super::table::Table;
use crate::client::Client;
use crate::settings::CommonArgs;

/// Run experiments: arms x seeds x a grid, from a file
///
///   lyceum experiment run lora.toml --dry-run
///   lyceum experiment run lora.toml --concurrency 2 --watch
///   lyceum experiment list
///   lyceum experiment pause SWEEP
///
/// A file names presets as arms and fields of the config as a grid:
///
///   title = "LoRA ranks"
///   seeds = [1, 2, 3]
///   concurrency = 2
///   [budget]
///   hours = 8
///   [arms.azr]
///   preset = "azr-seedling"
///   overrides = { steps = 100 }
///   [grid]
///   "populations.main.lora.r" = [4, 8, 16]
// What is printed for a terminal has tables of TOML, which rustdoc takes for links.
#[allow(rustdoc::broken_intra_doc_links)]
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Experiment {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    Run(begin::Begin),
    /// List sweeps, newest first
    List {
        /// Maximum number of sweeps
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Show a sweep as JSON
    Show {
        /// The sweep
        id: Uuid,
    },
    /// Watch a sweep until it ends; exits with 1 if a run failed
    Watch {
        /// The sweep
        id: Uuid,
    },
    /// Begin no more runs of a sweep for now; those in progress go on
    Pause {
        /// The sweep
        id: Uuid,
    },
    /// Let a paused sweep go on
    Resume {
        /// The sweep
        id: Uuid,
    },
    /// Begin no more runs of a sweep, ever; those in progress go on
    Cancel {
        /// The sweep
        id: Uuid,
    },
}

impl Experiment {
    /// Runs the command.
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        match self.action {
            Action::Run(begin) => begin.run(&client),
            Action::List { limit } => list(&client, limit),
            Action::Show { id } => {
                print_json(&client.get(&format!("/api/v1/sweeps/{id}"))?)?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Watch { id } => follow::follow(&client, id),
            Action::Pause { id } => steer(&client, id, "pause"),
            Action::Resume { id } => steer(&client, id, "resume"),
            Action::Cancel { id } => steer(&client, id, "cancel"),
        }
    }
}

fn list(client: &Client, limit: u32) -> anyhow::Result<ExitCode> {
    let mut table = Table::new([
        "id",
        "state",
        "runs",
        "planned",
        "open",
        "completed",
        "failed",
        "experiment",
    ]);
    for sweep in client.items("/api/v1/sweeps?", limit)? {
        let text = |field: &str| match &sweep[field] {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        table.row(
            [
                "id",
                "state",
                "runs",
                "planned",
                "open",
                "completed",
                "failed",
                "experiment",
            ]
            .map(text),
        );
    }
    table.print()?;
    Ok(ExitCode::SUCCESS)
}

fn steer(client: &Client, id: Uuid, action: &str) -> anyhow::Result<ExitCode> {
    let sweep = client.post(&format!("/api/v1/sweeps/{id}/{action}"), None)?;
    line(format_args!("{id} is {}", sweep["state"].as_str().unwrap_or_default()))?;
    Ok(ExitCode::SUCCESS)
}
