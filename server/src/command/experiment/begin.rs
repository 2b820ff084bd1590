//! `lyceum experiment run`.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};

use super::follow::follow;
use crate::{
    client::Client,
    command::{
        output::{line, remark},
        table::Table,
    },
    frame::format,
};

/// Begin an experiment from a file, and print the sweep's id
///
/// All configs are checked first: if one is not valid, nothing is created. More than 100 runs are asked about.
#[derive(Args, Debug)]
pub(super) struct Begin {
    /// The file, in TOML
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The experiment's name, instead of the file's title
    #[arg(long)]
    name: Option<String>,
    /// How many runs are in progress at once, instead of what the file says
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    concurrency: Option<u32>,
    /// Create nothing; print what the plan comes to
    #[arg(long)]
    dry_run: bool,
    /// Begin however many runs there are
    #[arg(long)]
    yes: bool,
    /// Watch it until it ends; exits with 1 if a run failed
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
}

/// A sweep of more runs is asked about, as the server does.
const ASKED_ABOVE: u64 = crate::sweep::ASKED_ABOVE as u64;

impl Begin {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
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
        let id = sweep["id"]
            .as_str()
            .and_then(|id| id.parse().ok())
            .context("the server's response has no id")?;
        line(id)?;
        match self.watch {
            true => follow(client, id),
            false => Ok(ExitCode::SUCCESS),
        }
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

/// Prints what a plan comes to.
fn tell(outlook: &Value) -> anyhow::Result<()> {
    let mut table = Table::new(["arm", "runs", "steps", "s per step", "time"]);
    for arm in outlook["arms"].as_array().into_iter().flatten() {
        table.row([
            arm["arm"].as_str().unwrap_or_default().to_owned(),
            arm["runs"].to_string(),
            arm["steps"].to_string(),
            arm["step_seconds"]
                .as_f64()
                .map_or("?".to_owned(), |seconds| format::value(&seconds)),
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
        remark(format_args!(
            "that is more than the budget of {}",
            time(&outlook["budget_seconds"])
        ));
    }
    let unused: Vec<&str> = outlook["unused"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !unused.is_empty() {
        remark(format_args!(
            "not used here, but by script/results: {}",
            unused.join(", ")
        ));
    }
    Ok(())
}

fn time(seconds: &Value) -> String {
    seconds
        .as_f64()
        .map_or("?".to_owned(), |seconds| format::duration(&seconds))
}
