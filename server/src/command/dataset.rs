//! `lyceum dataset`, and the check that follows an import.

pub(super) mod import;
pub(super) mod row_file;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use lyceum_core::dataset::{Purpose, TestFaultKind};
use serde_json::{Value, json};
use std::process::ExitCode;
use uuid::Uuid;

use crate::client::Client;
use crate::command::ServerArgs;
use crate::command::evaluation::wait;
use crate::command::output::{self, line, remark};
use crate::settings::CommonArgs;

/// Import seeds, training data and benchmarks, and show overlaps between datasets
///
///   lyceum dataset import problems.jsonl --purpose training --name my-problems
///   lyceum dataset import train.parquet --purpose training --format math
///   lyceum dataset show DATASET
///
/// `lyceum dataset import --help` lists the formats that are known. To import a suite's own file, use `lyceum benchmark import`.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Dataset {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    Check(Check),
    Import(Box<import::Import>),
    /// List datasets, newest first
    List {
        /// Only those with this purpose
        #[arg(long, value_parser = purposes())]
        purpose: Option<String>,
    },
    /// Show a dataset as JSON, with the datasets it overlaps and the check of its tests
    Show {
        /// The dataset
        id: Uuid,
    },
}

impl Dataset {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        match self.action {
            Action::Check(check) => return check.run(&client),
            Action::Import(import) => import.run(&client)?,
            Action::List { purpose } => list(&client, purpose.as_deref())?,
            Action::Show { id } => {
                let dataset = client.get(&format!("/api/v1/datasets/{id}"))?;
                output::json(&dataset)?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn purposes() -> PossibleValuesParser {
    PossibleValuesParser::new(Purpose::ALL.map(Purpose::name))
}

fn list(client: &Client, purpose: Option<&str>) -> anyhow::Result<()> {
    line(format!("{:36}  {:9}  {:18}  {:>9}  NAME", "DATASET", "PURPOSE", "SUITE", "ROWS"))?;
    let purpose = purpose.map(|purpose| format!("&purpose={purpose}")).unwrap_or_default();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("/api/v1/datasets?limit=100{purpose}{cursor}"))?;
        for dataset in page["items"].as_array().into_iter().flatten() {
            let text = |field: &str| dataset[field].as_str().unwrap_or("-");
            let [id, purpose, suite, name] = ["id", "purpose", "suite", "name"].map(text);
            line(format!("{id}  {purpose:9}  {suite:18}  {:>9}  {name}", dataset["rows"]))?;
        }
        match &page["next"] {
            Value::String(next) => cursor = format!("&cursor={next}"),
            _ => return Ok(()),
        }
    }
}

/// Bad rows that are named after an import.
const NAMED: u32 = 20;

/// Try the tests of a dataset's rows, and list the bad rows
///
/// A worker tries the tests of each row with an empty program, which must fail them, and with the row's canonical solution,
/// which must pass. Runs and evaluations refuse a dataset until that is done, and one with bad rows, unless they say
/// `allow_unchecked` or `leave_out_bad_rows`. An import plans the check; this waits for it, and begins it where it is
/// missing. Exits with 1 if there are bad rows.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The dataset
    id: Uuid,
    /// Try all tests again
    #[arg(long)]
    again: bool,
}

impl Check {
    pub(crate) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        let id = self.id.to_string();
        let check = client.get(&format!("/api/v1/datasets/{id}"))?["check"].take();
        let begins = match check["state"].as_str() {
            None => {
                remark("its rows have no tests to check");
                return Ok(ExitCode::SUCCESS);
            }
            Some("checking") => false,
            Some("checked") => self.again,
            Some(_) => true,
        };
        let evaluation = match begins {
            true => {
                let spec = json!({"type": "dataset_check", "dataset": id});
                client.post("/api/v1/evaluations", Some(&json!({ "spec": spec })))?["id"].take()
            }
            false => check["evaluation"].clone(),
        };
        if let Some(evaluation) = evaluation.as_str() {
            wait(client, evaluation)?;
        }
        let rows = client.items(&format!("/api/v1/datasets/{id}/bad-rows?"), u32::MAX)?;
        rows.iter().map(told).try_for_each(line)?;
        remark(match rows.len() {
            1 => "1 bad row".to_owned(),
            count => format!("{count} bad rows"),
        });
        Ok(if rows.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Waits for the check that the import of `made` has planned, and warns of bad rows. Without a worker that could do it, or with
/// `no_wait`, it only says what there is to wait for.
pub(in crate::command) fn after_import(made: &Value, client: &Client, no_wait: bool) -> anyhow::Result<()> {
    let (Some(id), Some(evaluation)) = (made["id"].as_str(), made["check"]["evaluation"].as_str()) else {
        return Ok(());
    };
    if no_wait || !is_anybody_there(client)? {
        let why = if no_wait { "" } else { " (no worker is there that could)" };
        remark(format_args!(
            "its tests have yet to be checked{why}, and runs refuse it until then: `lyceum dataset check {id}` waits for that"
        ));
        return Ok(());
    }
    let result = match wait(client, evaluation) {
        Ok(result) => result,
        Err(error) => {
            remark(format_args!(
                "warning: its tests were not checked: {error}; `lyceum dataset check {id}` tries again"
            ));
            return Ok(());
        }
    };
    let count = result["bad_rows"].as_u64().unwrap_or_default();
    if count == 0 {
        remark("its tests are checked: there are no bad rows");
        return Ok(());
    }
    remark(format_args!(
        "warning: {count} of {} rows have tests that cannot be used; runs refuse it, unless they say `leave_out_bad_rows`:",
        result["rows"]
    ));
    let rows = client.items(&format!("/api/v1/datasets/{id}/bad-rows?"), NAMED)?;
    rows.iter().map(told).for_each(|row| remark(format_args!("  {row}")));
    if count > u64::from(NAMED) {
        remark(format_args!("  and {} more: `lyceum dataset check {id}` lists them", count - u64::from(NAMED)));
    }
    Ok(())
}

fn is_anybody_there(client: &Client) -> anyhow::Result<bool> {
    let workers = client.items("/api/v1/workers?alive=true", 1000)?;
    let verifies = |worker: &Value| {
        let kinds = worker["kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "verify"))
    };
    Ok(workers.iter().any(verifies))
}

/// A bad row in words.
fn told(row: &Value) -> String {
    let place = match row["line"].as_u64() {
        Some(line) => format!("line {line}"),
        None => format!("row {}", row["index"]),
    };
    let text = |field: &str| row[field].as_str().unwrap_or_default().to_owned();
    let reason = match text("reason").parse::<TestFaultKind>() {
        Ok(kind) => kind.told().to_owned(),
        Err(_) => text("reason"),
    };
    let message = Some(text("message")).filter(|message| !message.is_empty());
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    format!("{place} ({}): {reason}{message}", text("task_id"))
}
