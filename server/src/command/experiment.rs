//! `lyceum experiment`.

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use uuid::Uuid;

use crate::client::Client;
use crate::command::ServerArgs;
use crate::command::output::{Table, json as print_json, line, remark};
use crate::frame::format;
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
    Run(Begin),
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
            Action::Watch { id } => follow(&client, id),
            Action::Pause { id } => steer(&client, id, "pause"),
            Action::Resume { id } => steer(&client, id, "resume"),
            Action::Cancel { id } => steer(&client, id, "cancel"),
        }
    }
}

fn list(client: &Client, limit: u32) -> anyhow::Result<ExitCode> {
    let mut table = Table::new(["id", "state", "runs", "planned", "open", "completed", "failed", "experiment"]);
    for sweep in client.items("/api/v1/sweeps?", limit)? {
        let text = |field: &str| match &sweep[field] {
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        table.row(["id", "state", "runs", "planned", "open", "completed", "failed", "experiment"].map(text));
    }
    table.print()?;
    Ok(ExitCode::SUCCESS)
}

fn steer(client: &Client, id: Uuid, action: &str) -> anyhow::Result<ExitCode> {
    let sweep = client.post(&format!("/api/v1/sweeps/{id}/{action}"), None)?;
    line(format_args!("{id} is {}", sweep["state"].as_str().unwrap_or_default()))?;
    Ok(ExitCode::SUCCESS)
}

/// Begin an experiment from a file, and print the sweep's id
///
/// All configs are checked first: if one is not valid, nothing is created. More than 100 runs have to be confirmed.
#[derive(Args, Debug)]
pub(crate) struct Begin {
    /// The file, in TOML
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The experiment's name, instead of the file's title
    #[arg(long)]
    name: Option<String>,
    /// How many runs are in progress at once, instead of what the file says
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    concurrency: Option<u32>,
    /// Create nothing; print the runs, steps and time that it would take
    #[arg(long)]
    dry_run: bool,
    /// Begin however many runs there are
    #[arg(long)]
    yes: bool,
    /// Watch it until it ends; exits with 1 if a run failed
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
}

/// A sweep of more runs has to be confirmed, as with the server.
const ASKED_ABOVE: u64 = crate::subjects::sweeps::expand::ASKED_ABOVE as u64;

impl Begin {
    pub(crate) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        let text = std::fs::read_to_string(&self.file)
            .with_context(|| format!("cannot read the experiment {}", self.file.display()))?;
        let mut body = json!({ "file": text });
        if let Some(name) = &self.name {
            body["name"] = json!(name);
        }
        if let Some(concurrency) = self.concurrency {
            body["concurrency"] = json!(concurrency);
        }
        let outlook = client
            .post("/api/v1/sweeps?dry_run=true", Some(&body))
            .with_context(|| format!("{} is not a valid experiment", self.file.display()))?;
        tell(&outlook)?;
        if self.dry_run {
            return Ok(ExitCode::SUCCESS);
        }
        let runs = outlook["runs"].as_u64().unwrap_or(0);
        if runs > ASKED_ABOVE {
            if !self.yes && !is_confirmed(runs)? {
                bail!("nothing was created");
            }
            body["confirm_runs"] = json!(runs);
        }
        let sweep = client.post("/api/v1/sweeps", Some(&body))?;
        let id = sweep["id"].as_str().and_then(|id| id.parse().ok()).context("the server's response has no id")?;
        line(id)?;
        if self.watch { follow(client, id) } else { Ok(ExitCode::SUCCESS) }
    }
}

/// Asks on the terminal.
fn is_confirmed(runs: u64) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("this experiment has {runs} runs; if that is meant, add --yes");
    }
    eprint!("This experiment has {runs} runs. Begin it? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
}

/// Prints the runs, steps and time of a plan.
fn tell(outlook: &Value) -> anyhow::Result<()> {
    let mut table = Table::new(["arm", "runs", "steps", "s per step", "time"]);
    for arm in outlook["arms"].as_array().into_iter().flatten() {
        table.row([
            arm["arm"].as_str().unwrap_or_default().to_owned(),
            arm["runs"].to_string(),
            arm["steps"].to_string(),
            arm["step_seconds"].as_f64().map_or("?".to_owned(), |seconds| format::value(&seconds)),
            time(&arm["seconds"]),
        ]);
    }
    table.print()?;
    line(format_args!(
        "{} runs, {} at a time: {}",
        outlook["runs"],
        outlook["concurrency"],
        match outlook["seconds"].as_f64() {
            Some(_) => format!("about {}, at the pace of earlier runs", time(&outlook["seconds"])),
            None => "their time is unknown until a run like them has completed some steps".to_owned(),
        }
    ))?;
    if let (Some(seconds), Some(budget)) = (outlook["seconds"].as_f64(), outlook["budget_seconds"].as_f64())
        && seconds > budget
    {
        remark(format_args!("that is more than the budget of {}", time(&outlook["budget_seconds"])));
    }
    let unused: Vec<&str> = outlook["unused"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !unused.is_empty() {
        remark(format_args!("not used here, but by script/results: {}", unused.join(", ")));
    }
    Ok(())
}

fn time(seconds: &Value) -> String {
    seconds.as_f64().map_or("?".to_owned(), |seconds| format::duration(&seconds))
}

/// Between two looks at a sweep.
const EVERY: Duration = Duration::from_secs(5);

/// Tells how a sweep goes on until it ends or is paused.
pub(crate) fn follow(client: &Client, id: Uuid) -> anyhow::Result<ExitCode> {
    let mut told = None;
    loop {
        let sweep = client.get(&format!("/api/v1/sweeps/{id}"))?;
        let count = |field: &str| sweep[field].as_i64().unwrap_or(0);
        let ended = count("completed") + count("failed");
        if told != Some(ended) {
            told = Some(ended);
            line(format_args!(
                "{ended} of {} runs have ended, {} in progress{}",
                count("runs"),
                count("open"),
                match count("failed") {
                    0 => String::new(),
                    failed => format!(", {failed} failed"),
                }
            ))?;
        }
        match sweep["state"].as_str().unwrap_or_default() {
            "running" => std::thread::sleep(EVERY),
            state => {
                remark(format_args!("{id} is {state}{}", reason(&sweep)));
                let is_good = state == "completed" && count("failed") == 0;
                return Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
            }
        }
    }
}

fn reason(sweep: &Value) -> String {
    sweep["reason"].as_str().map_or(String::new(), |reason| format!(": {reason}"))
}
