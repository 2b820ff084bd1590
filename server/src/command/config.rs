//! `lyceum config`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use lyceum_core::config::{RunConfig, from_toml, resolve};
use lyceum_core::fault::{Fault, Faults};
use lyceum_core::recipe::Registry;
use serde_json::Value;

use super::output::{document, remark};

/// Check run configs
#[derive(Args, Debug)]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check a run config and print it with every default filled in
    ///
    /// Prints all faults at once, each with its location and the valid values. No server is needed.
    Check {
        /// The run config, in TOML or JSON
        file: PathBuf,
    },
}

impl Config {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Action::Check { file } = self.action;
        let registry = Registry::shipped();
        match check(&read(&file)?, &registry) {
            Ok(config) => {
                let recipe = registry.get(&config.recipe).ok();
                let warnings = recipe.and_then(|recipe| recipe.warnings(&config).ok());
                for Fault { pointer, detail } in warnings.unwrap_or_default() {
                    remark(format!("warning: {pointer}: {detail}"));
                }
                document(&toml::to_string_pretty(&config).context("the config cannot be written as TOML")?)?;
                Ok(ExitCode::SUCCESS)
            }
            Err(faults) => {
                for fault in &faults.0 {
                    remark(format_args!("{}: {fault}", file.display()));
                }
                Ok(ExitCode::FAILURE)
            }
        }
    }
}

fn check(document: &Value, registry: &Registry) -> Result<RunConfig, Faults> {
    resolve(document, registry)
}

/// The run config in `file`: JSON if its name ends so, else TOML.
pub(super) fn read(file: &std::path::Path) -> anyhow::Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    if file.extension().is_some_and(|kind| kind == "json") {
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))
    } else {
        from_toml(&text).with_context(|| format!("{} is not TOML", file.display()))
    }
}
