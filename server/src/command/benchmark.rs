//! `lyceum benchmark`.

mod evaluate;
mod import;

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use lyceum_core::benchmark::shipped_suites;
use serde_json::Value;
use uuid::Uuid;

use super::output::{document, line};
use crate::command::ServerArgs;
use crate::settings::CommonArgs;

/// Import benchmarks, run them, and print the papers' table
///
/// Lyceum contains no benchmark data. Import a suite's own file once, then measure with it:
///
///   lyceum benchmark import humaneval HumanEval.jsonl.gz
///   lyceum benchmark evaluate --run RUN --suite humaneval --watch
///   lyceum benchmark table RUN --format markdown
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Benchmark {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the suites and whether they have been imported
    List,
    Import(import::Import),
    Evaluate(evaluate::Evaluate),
    /// Print the table of a run: every member, mean, worst and best, next to base and baseline
    Table {
        /// The run
        run: Uuid,
        /// The members after this many steps [default: the latest measured]
        #[arg(long)]
        step: Option<u32>,
        /// A run to compare with
        #[arg(long, value_name = "RUN")]
        baseline: Option<Uuid>,
        /// The output format
        #[arg(long, value_enum, default_value_t = Format::Markdown)]
        format: Format,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Json,
    Csv,
    Markdown,
}

impl Benchmark {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        // The file is read before connecting to a server, so that it can be checked without one.
        let import = match self.action {
            Action::Import(import) => {
                let read = import.read()?;
                if import.is_dry() {
                    return Ok(ExitCode::SUCCESS);
                }
                return import.send(read, &self.server.client(common)?);
            }
            other => other,
        };
        let client = self.server.client(common)?;
        match import {
            Action::List => list(&client.get("/api/v1/benchmarks")?)?,
            Action::Import(_) => {}
            Action::Evaluate(evaluate) => return evaluate.run(&client),
            Action::Table { run, step, baseline, format } => {
                document(&client.text(&table(run, step, baseline, format))?)?
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn table(run: Uuid, step: Option<u32>, baseline: Option<Uuid>, format: Format) -> String {
    let format = match format {
        Format::Json => "json",
        Format::Csv => "csv",
        Format::Markdown => "markdown",
    };
    let step = step.map(|step| format!("&step={step}")).unwrap_or_default();
    let baseline = baseline.map(|run| format!("&baseline={run}")).unwrap_or_default();
    format!("/api/v1/runs/{run}/benchmarks/table?format={format}{step}{baseline}")
}

fn list(suites: &Value) -> anyhow::Result<()> {
    line(format_args!("{:18}  {:18}  {:>6}  IMPORTED", "SUITE", "TITLE", "ROWS"))?;
    for suite in suites["items"].as_array().into_iter().flatten() {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let dataset = &suite["dataset"];
        let imported = match dataset["rows"].as_u64() {
            Some(rows) => format!("{rows} rows, sha256 {:.12}, {}", text(&dataset["sha256"]), text(&dataset["source"])),
            None => "-".to_owned(),
        };
        let rows = suite["rows"].as_u64().map_or_else(|| "any".to_owned(), |rows| rows.to_string());
        line(format_args!("{:18}  {:18}  {rows:>6}  {imported}", text(&suite["name"]), text(&suite["title"])))?;
    }
    Ok(())
}

/// The valid names, for help texts.
fn names() -> String {
    let names: Vec<&str> = shipped_suites().iter().map(|suite| suite.name.as_str()).collect();
    names.join(", ")
}
