//! `lyceum evaluation goalposts`.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::create;
use crate::client::Client;

/// Let checkpoints of runs attempt hard problems many times, and their untrained bases as often
///
/// The map of what was solved when is at /runs/RUN/goalposts, and for several runs at
/// /compare/goalposts?runs=RUN,RUN. Without --dataset, the problems are the goalposts of the
/// first run, which must be of recipe gasp:
///
///   lyceum evaluation goalposts --run RUN --every 6 --watch
///   lyceum evaluation goalposts --run RUN --run OTHER --step 30 --step 60 --dataset hard
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub(super) struct Goalposts {
    #[command(flatten)]
    attempts: Attempts,
    /// A run whose checkpoints attempt them; may be repeated
    #[arg(long = "run", required = true, value_name = "RUN")]
    runs: Vec<Uuid>,
    /// The problems: a dataset, by name or id
    #[arg(long, value_name = "DATASET")]
    dataset: Option<String>,
    /// Leave out the attempts of the untrained base that show what is luck
    #[arg(long)]
    no_control: bool,
    /// Wait for the end and print the result; exits with 1 if it failed
    #[arg(long)]
    watch: bool,
}

/// Which checkpoints attempt problems, and how.
#[derive(Args, Debug)]
pub(crate) struct Attempts {
    /// The checkpoint after this many steps; may be repeated
    #[arg(long = "step", value_name = "STEP")]
    steps: Vec<u32>,
    /// Checkpoints after every so many steps, and the last one [default: the last one]
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u32).range(1..))]
    every: Option<u32>,
    /// Use only this many rows, from the first
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rows: Option<u32>,
    /// Attempts of each checkpoint at each problem
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    n: u32,
    /// Softmax temperature
    #[arg(long, default_value_t = 0.6)]
    temperature: f64,
    /// Maximum tokens of an attempt [default: that of a suite with rows like these]
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u32>,
    /// The prompt style [default: seedling for problems of self-play, azr for others]
    #[arg(long, value_name = "STYLE")]
    prompts: Option<String>,
    /// The random seed
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
}

impl Attempts {
    /// The spec of an evaluation.
    pub(crate) fn spec(&self, runs: &[Uuid], dataset: Option<&str>, control: bool) -> Value {
        let climbs = runs.iter().map(|run| {
            let mut climb = json!({ "run": run, "steps": self.steps });
            set(&mut climb, "every", self.every);
            climb
        });
        let mut spec = json!({
            "type": "goalposts",
            "runs": climbs.collect::<Vec<_>>(),
            "control": control,
            "n": self.n,
            "temperature": self.temperature,
        });
        set(&mut spec, "dataset", dataset);
        set(&mut spec, "rows", self.rows);
        set(&mut spec, "max_tokens", self.max_tokens);
        set(&mut spec, "prompts", self.prompts.as_deref());
        spec
    }
}

fn set<T: Into<Value>>(spec: &mut Value, field: &str, value: Option<T>) {
    if let Some(value) = value {
        spec[field] = value.into();
    }
}

impl Goalposts {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        let spec = self
            .attempts
            .spec(&self.runs, self.dataset.as_deref(), !self.no_control);
        create(client, &spec, self.attempts.seed, self.watch)
    }
}
