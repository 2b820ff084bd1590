//! `lyceum run`.

mod export;
mod list;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{ArgGroup, Args, Subcommand};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::config::read;
use super::output::{json as print_json, line, remark};
use super::reward;
use crate::client::Client;
use crate::command::ServerArgs;
use crate::settings::CommonArgs;

/// Create, watch and control runs on a server
///
/// The server is that of --url, by default that of `lyceum up` in the data folder; the token is that of --token, by
/// default the data folder's admin token.
#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a run from a preset or a config, and print its id
    #[command(group = ArgGroup::new("from").required(true))]
    Create {
        /// The name of a preset on the server
        #[arg(long, group = "from")]
        preset: Option<String>,
        /// A run config in TOML or JSON
        #[arg(long, group = "from", id = "file", long = "file", value_name = "FILE")]
        config: Option<PathBuf>,
        /// Its name
        #[arg(long)]
        name: Option<String>,
        /// Its experiment, by name or id
        #[arg(long)]
        experiment: Option<String>,
        /// Override a value of the config, such as `populations.main.lora.r=16`; may be repeated
        #[arg(long = "set", value_name = "PATH=VALUE")]
        overrides: Vec<String>,
        /// Score answers with this reward, a Python file with `score(prompt, completion, row)`: it is stored, and
        /// `parameters.oracle` names it; `--set parameters.oracle.timeout=30` and `--set parameters.oracle.packages='["numpy"]'`
        /// set its limits
        #[arg(long, value_name = "FILE")]
        reward: Option<PathBuf>,
        /// Store the reward even if a text in it looks like a secret
        #[arg(long, requires = "reward")]
        yes: bool,
        /// Create nothing; print the config with every default filled in
        #[arg(long)]
        dry_run: bool,
        /// Watch it until it ends
        #[arg(long, conflicts_with = "dry_run")]
        watch: bool,
    },
    List(list::List),
    /// Show a run as JSON
    Show {
        /// The run
        id: Uuid,
    },
    /// Show what a run costs: the median step time without the first five, and adapter steps per hour
    Cost {
        /// The run
        id: Uuid,
    },
    /// Show the results of a run on every suite: pass@1 after each measured step, and its difference from the base
    Results {
        /// The run
        id: Uuid,
        /// Print each result as a line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a run as files for other tools, into a new folder, and print its path
    Export {
        /// The run
        id: Uuid,
        /// What the files are for
        #[arg(long, value_enum, default_value_t = export::ExportFormat::Parquet)]
        format: export::ExportFormat,
        /// Where to make the folder
        #[arg(long, default_value = ".", value_name = "DIR")]
        out: PathBuf,
    },
    Push(export::Push),
    /// Watch a run until it ends; exits with 1 if it failed
    Watch {
        /// The run
        id: Uuid,
    },
    /// Pause a run: no further work starts
    Pause {
        /// The run
        id: Uuid,
    },
    /// Resume a paused run
    Resume {
        /// The run
        id: Uuid,
    },
    /// Cancel a run
    Cancel {
        /// The run
        id: Uuid,
    },
    /// Fork a run before a step, or continue it, and print the new run's id
    Fork {
        /// The run
        id: Uuid,
        /// The step before which to fork; by default where the run is now, or its end
        #[arg(long)]
        step: Option<u32>,
        /// Steps to run from there on
        #[arg(long)]
        more_steps: Option<u32>,
        /// The fork's name
        #[arg(long)]
        name: Option<String>,
        /// Override a value of the config; may be repeated
        #[arg(long = "set", value_name = "PATH=VALUE")]
        overrides: Vec<String>,
    },
}

impl Run {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let client = self.server.client(common)?;
        match self.action {
            Action::Create { preset, config, name, experiment, overrides, reward, yes, dry_run, watch } => {
                let mut body = json!({ "overrides": parse_overrides(&overrides)? });
                if let Some(file) = reward {
                    body["overrides"]["parameters.oracle"] =
                        json!({"type": "python", "file": reward::add(&client, &file, yes)?});
                }
                let config = config.map(|file| read(&file)).transpose()?;
                let fields = [
                    ("preset", preset.map(Value::from)),
                    ("config", config),
                    ("name", name.map(Value::from)),
                    ("experiment", experiment.map(Value::from)),
                ];
                for (field, value) in fields {
                    if let Some(value) = value {
                        body[field] = value;
                    }
                }
                if dry_run {
                    let resolved = client.post("/api/v1/runs?dry_run=true", Some(&body))?;
                    warn(&resolved);
                    print_json(&resolved["config"])?;
                    return Ok(ExitCode::SUCCESS);
                }
                let run = client.post("/api/v1/runs", Some(&body))?;
                warn(&run);
                let id = print_id(&run)?;
                if watch { watch::follow(&client, id) } else { Ok(ExitCode::SUCCESS) }
            }
            Action::List(list) => {
                list.run(&client)?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Show { id } => {
                print_json(&client.get(&format!("/api/v1/runs/{id}"))?)?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Cost { id } => {
                print_json(&list::cost(&client, id)?)?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Results { id, json } => {
                list::results(&client, id, json)?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Export { id, format, out } => {
                export::export(&client, id, format, &out)?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Push(push) => {
                push.run(&client)?;
                Ok(ExitCode::SUCCESS)
            }
            Action::Watch { id } => watch::follow(&client, id),
            Action::Pause { id } => steer(&client, id, "pause"),
            Action::Resume { id } => steer(&client, id, "resume"),
            Action::Cancel { id } => steer(&client, id, "cancel"),
            Action::Fork { id, step, more_steps, name, overrides } => {
                let mut body = json!({ "overrides": parse_overrides(&overrides)? });
                for (field, value) in [("step", step), ("more_steps", more_steps)] {
                    if let Some(value) = value {
                        body[field] = Value::from(value);
                    }
                }
                if let Some(name) = name {
                    body["name"] = Value::from(name);
                }
                print_id(&client.post(&format!("/api/v1/runs/{id}/fork"), Some(&body))?)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn print_id(run: &Value) -> anyhow::Result<Uuid> {
    let id = run["id"].as_str().and_then(|id| id.parse().ok()).context("the server's response has no id")?;
    line(id)?;
    Ok(id)
}

/// Parses `a.b=1` as a value at a path. A value that is not JSON is text.
fn parse_overrides(given: &[String]) -> anyhow::Result<Map<String, Value>> {
    let parse = |text: &String| {
        let (path, value) = text.split_once('=').with_context(|| {
            format!("`{text}` sets nothing; write a path, `=` and a value, such as `populations.main.lora.r=16`")
        })?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok((path.to_owned(), value))
    };
    given.iter().map(parse).collect()
}

/// Prints the warnings in the answer to a creation.
fn warn(answer: &Value) {
    for warning in answer["warnings"].as_array().into_iter().flatten() {
        let text = |field: &str| warning[field].as_str().unwrap_or_default().to_owned();
        remark(format!("warning: {}: {}", text("pointer"), text("detail")));
    }
}

fn steer(client: &Client, id: Uuid, action: &str) -> anyhow::Result<ExitCode> {
    let run = client.post(&format!("/api/v1/runs/{id}/{action}"), None)?;
    line(format_args!("{id} is {}", run["state"].as_str().unwrap_or_default()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_json_where_it_can_be_and_text_elsewhere() {
        let given = ["a.b=16", "c=true", "d=x=y", "e=[1]"].map(str::to_owned);
        let parsed = parse_overrides(&given).unwrap();
        assert_eq!(Value::Object(parsed), json!({"a.b": 16, "c": true, "d": "x=y", "e": [1]}));
        assert!(parse_overrides(&["a".to_owned()]).is_err());
    }
}
