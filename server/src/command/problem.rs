//! `lyceum problem`.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use uuid::Uuid;

use super::output::{json as print_json, json_line};
use crate::command::ServerArgs;
use crate::command::output::Table;
use crate::frame::format;
use crate::settings::CommonArgs;

/// Find the problems of a run
///
///   lyceum problem list RUN --unsolved
///   lyceum problem list RUN --type code_o --words sorted --json
///   lyceum problem show RUN PROBLEM
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Problem {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(List),
    /// Show a problem in full as JSON
    Show {
        /// The run
        run: Uuid,
        /// The problem
        id: Uuid,
    },
}

/// List problems, newest first
#[derive(Args, Debug)]
struct List {
    /// The run
    run: Uuid,
    /// Only valid problems that were attempted and that nobody solved
    #[arg(long)]
    unsolved: bool,
    /// Only valid ones (`true`) or the others (`false`)
    #[arg(long, conflicts_with = "unsolved")]
    valid: Option<bool>,
    /// Only those of this type, such as code_o
    #[arg(long = "type")]
    kind: Option<String>,
    /// Only those of this step
    #[arg(long)]
    step: Option<u32>,
    /// Only those with these words in the program or the reason
    #[arg(long)]
    words: Option<String>,
    /// Maximum number of problems
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    limit: u32,
    /// Print each problem as a line of JSON, in full
    #[arg(long)]
    json: bool,
}

impl Problem {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        match self.action {
            Action::List(list) => {
                let problems = client.items(&list.address(), list.limit)?;
                if list.json { problems.iter().try_for_each(json_line)? } else { table(&problems).print()? }
            }
            Action::Show { run, id } => print_json(&client.get(&format!("/api/v1/runs/{run}/problems/{id}"))?)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl List {
    fn address(&self) -> String {
        let mut address = format!("/api/v1/runs/{}/problems?full={}", self.run, self.json);
        let mut ask = |name: &str, value: &str| {
            address += &format!("&{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC));
        };
        if self.unsolved {
            ask("valid", "true");
            ask("solve_rate_max", "0");
        }
        if let Some(valid) = self.valid {
            ask("valid", &valid.to_string());
        }
        if let Some(kind) = &self.kind {
            ask("type", kind);
        }
        if let Some(step) = self.step {
            ask("step", &step.to_string());
        }
        if let Some(words) = &self.words {
            ask("q", words);
        }
        address
    }
}

fn table(problems: &[Value]) -> Table {
    let mut table = Table::new(["id", "step", "type", "status", "solve rate", "attempts", "program"]);
    for problem in problems {
        let text = |field: &str| problem[field].as_str().unwrap_or_default().to_owned();
        let rate = problem["solve_rate"].as_f64().map(|rate| format::percent(&rate));
        let program = text("program");
        let first: String = program.lines().next().unwrap_or_default().chars().take(60).collect();
        table.row([
            text("id"),
            problem["step"].to_string(),
            text("type"),
            text("status"),
            rate.unwrap_or_default(),
            problem["attempts"].to_string(),
            first,
        ]);
    }
    table
}
