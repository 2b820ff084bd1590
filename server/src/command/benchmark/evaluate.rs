//! `lyceum benchmark evaluate`.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::benchmark::SuiteChoice;
use lyceum_core::work::Dtype;
use serde_json::{Value, json};
use uuid::Uuid;

use super::names;
use crate::client::Client;
use crate::command::evaluation::{tell_how_to_watch, wait};
use crate::command::output;
use crate::command::output::line;

/// Measure members of a run, given weights or a model on suites, and print the evaluation's id
#[derive(Args, Debug)]
#[command(after_help = format!("Suites: {}", names()))]
pub(super) struct Evaluate {
    /// A suite; may be repeated. Its name can be followed by settings for this suite, such as
    /// `livecodebench,dataset=DATASET,name=goalposts,n=100,temperature=0.6`; also rows, prompts, top_p, max_tokens and
    /// plain_notation.
    /// `distribution=in` or `distribution=out` puts it into the table of suites in and out of distribution
    #[arg(long = "suite", required = true, value_name = "NAME[,FIELD=VALUE]..")]
    suites: Vec<SuiteChoice>,
    /// All living members of this run, and their base
    #[arg(long)]
    run: Option<Uuid>,
    /// The members after this many steps [default: the current ones]
    #[arg(long, requires = "run")]
    step: Option<u32>,
    /// Only members that play this role, such as `student`; may be repeated
    #[arg(long = "role", value_name = "ROLE", requires = "run")]
    roles: Vec<String>,
    /// Weights, by the id of their version; may be repeated
    #[arg(long = "version", value_name = "VERSION")]
    versions: Vec<Uuid>,
    /// A model without an adapter: a base, or a merged model in the models folder
    #[arg(long, value_name = "MODEL")]
    base_model: Option<String>,
    /// Do not measure the members' bases
    #[arg(long)]
    no_base: bool,
    /// Samples per row
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    n: u32,
    /// A sample of ROWS rows of each suite, the same for everybody who asks for as many
    #[arg(long)]
    rows: Option<u32>,
    /// Overrides the suites' prompt style
    #[arg(long)]
    prompts: Option<String>,
    /// Overrides the suites' softmax temperature
    #[arg(long)]
    temperature: Option<f64>,
    /// Overrides the suites' maximum tokens per answer
    #[arg(long)]
    max_tokens: Option<u32>,
    /// Precision of the base's arithmetic; `bf16` is faster where the processor has units for it [default: fp32]
    #[arg(long, value_name = "fp32|bf16")]
    dtype: Option<Dtype>,
    /// The random seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Wait for the end and print the table; exits with 1 if it failed
    #[arg(long)]
    watch: bool,
}

impl Evaluate {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        let mut spec = json!({
            "type": "benchmark",
            "suites": self.suites,
            "versions": self.versions,
            "base": !self.no_base,
            "roles": self.roles,
            "n": self.n,
        });
        let optional = [
            ("run", json!(self.run)),
            ("step", json!(self.step)),
            ("base_model", json!(self.base_model.map(|name| json!({ "name": name })))),
            ("rows", json!(self.rows)),
            ("prompts", json!(self.prompts)),
            ("temperature", json!(self.temperature)),
            ("max_tokens", json!(self.max_tokens)),
            ("compute", json!(self.dtype.map(|dtype| json!({ "dtype": dtype })))),
        ];
        for (name, value) in optional {
            if !value.is_null() {
                spec[name] = value;
            }
        }
        let made = client.post("/api/v1/evaluations", Some(&json!({ "spec": spec, "seed": self.seed })))?;
        let id = made["id"].as_str().context("the server's response has no id")?;
        line(id)?;
        if self.watch {
            output::document(&markdown(&wait(client, id)?)?)?;
            Ok(ExitCode::SUCCESS)
        } else {
            tell_how_to_watch(id);
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn markdown(result: &Value) -> anyhow::Result<String> {
    let table: lyceum_core::benchmark::Table =
        serde_json::from_value(result.clone()).context("the evaluation's result is not a table")?;
    Ok(table.to_markdown())
}
