//! `lyceum goalposts`.

use std::process::ExitCode;

use anyhow::{Context as _, ensure};
use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use serde_json::json;
use uuid::Uuid;

use super::evaluation::{Attempts, begin, wait};
use super::output::{self, line};
use crate::client::Client;
use crate::command::ServerArgs;
use crate::settings::CommonArgs;

/// Find goalposts, hard problems that nothing solves, and see which come into reach
///
///   lyceum goalposts make --name hard --dataset candidates --run RLVR --run AZR --every 50
///   lyceum run create --preset gasp-seedling --set parameters.goalposts.name=hard
///   lyceum evaluation goalposts --run RUN --every 6 --watch
///   lyceum goalposts map RUN OTHER --format csv
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(crate) struct Goalposts {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    Make(Make),
    /// Print which goalposts the checkpoints of runs solved when; runs that differ only by seed are one arm
    Map {
        /// The runs
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<Uuid>,
        /// The dataset of goalposts [default: the one that was measured last]
        #[arg(long)]
        dataset: Option<Uuid>,
        /// The output format
        #[arg(long, value_enum, default_value_t = Format::Json)]
        format: Format,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    Json,
    Csv,
}

/// Make a dataset of the rows that no attempt solved: pass@n = 0 under every checkpoint and base
///
/// The paper's filters (GASP, section 3.2) are 100 attempts of the base, of all checkpoints of
/// several seeds of rlvr, and of a checkpoint of azr; then a run of rlvr on what is left, and
/// the same again. Plans an evaluation of all of them, waits for it, and makes the dataset:
///
///   lyceum goalposts make --name hard-1 --dataset candidates --run RLVR --run AZR --every 50
///   lyceum goalposts make --name hard --dataset hard-1 --run RLVR-ON-HARD --every 50
///
/// Evaluations of the same rows that have ended can be used as well, or instead:
///
///   lyceum goalposts make --name hard --evaluation EVALUATION --evaluation OTHER
#[derive(Args, Debug)]
#[command(verbatim_doc_comment, group = ArgGroup::new("filters").required(true).multiple(true).args(["dataset", "evaluations"]))]
struct Make {
    /// The name of the dataset to make
    #[arg(long)]
    name: String,
    /// The rows to start from: a dataset for training or of goalposts, by name or id
    #[arg(long, value_name = "DATASET")]
    dataset: Option<String>,
    /// A run whose checkpoints attempt them; may be repeated
    #[arg(long = "run", value_name = "RUN", requires = "dataset")]
    runs: Vec<Uuid>,
    /// Also this base model; the bases of the runs always do
    #[arg(long, value_name = "MODEL", requires = "dataset")]
    base_model: Option<String>,
    /// A finished evaluation of the same rows; may be repeated
    #[arg(long = "evaluation", value_name = "EVALUATION")]
    evaluations: Vec<Uuid>,
    /// Keep rows that ask what a benchmark asks
    #[arg(long)]
    allow_overlap: bool,
    #[command(flatten)]
    attempts: Attempts,
}

impl Goalposts {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        match self.action {
            Action::Make(make) => make.run(&client)?,
            Action::Map { runs, dataset, format } => map(&client, &runs, dataset, format)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Make {
    fn run(self, client: &Client) -> anyhow::Result<()> {
        let mut evaluations: Vec<String> = self.evaluations.iter().map(Uuid::to_string).collect();
        if let Some(dataset) = &self.dataset {
            ensure!(
                !self.runs.is_empty() || self.base_model.is_some(),
                "--dataset {dataset}: name who attempts its rows with --run or --base-model"
            );
            let mut spec = self.attempts.spec(&self.runs, Some(dataset), false);
            if let Some(model) = &self.base_model {
                spec["base_model"] = json!({ "name": model });
            }
            let id = begin(client, &spec, self.attempts.seed)?;
            wait(client, &id)?;
            evaluations.push(id);
        }
        let asked = json!({"name": self.name, "evaluations": evaluations, "allow_overlap": self.allow_overlap});
        let made = client.post("/api/v1/goalposts", Some(&asked))?;
        let rows = made["rows"].as_u64().context("the server's response has no rows")?;
        let of = made["provenance"]["rows"].as_u64().unwrap_or_default();
        line(format!("{rows} of {of} rows are goalposts: dataset `{}`", self.name))
    }
}

fn map(client: &Client, runs: &[Uuid], dataset: Option<Uuid>, format: Format) -> anyhow::Result<()> {
    let runs = runs.iter().map(Uuid::to_string).collect::<Vec<_>>().join(",");
    let dataset = dataset.map(|id| format!("&dataset={id}")).unwrap_or_default();
    let address = format!("/api/v1/goalposts?runs={runs}{dataset}");
    match format {
        Format::Json => output::json(&client.get(&address)?),
        Format::Csv => output::document(&client.text(&format!("{address}&format=csv"))?),
    }
}
