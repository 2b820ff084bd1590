//! `lyceum dataset`.

pub(super) mod check;
mod import;
pub(super) mod row_file;
pub(super) mod upload;

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use lyceum_core::dataset::Purpose;
use serde_json::Value;
use uuid::Uuid;

use super::output::{self, line};
use super::server_args::ServerArgs;
use crate::client::Client;
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
    Check(check::Check),
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
    line(format!(
        "{:36}  {:9}  {:18}  {:>9}  NAME",
        "DATASET", "PURPOSE", "SUITE", "ROWS"
    ))?;
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
