//! `lyceum evaluation regenerate`.

use std::process::ExitCode;

use clap::{ArgGroup, Args};
use serde_json::json;
use uuid::Uuid;

use super::create;
use crate::client::Client;

/// Generate a recorded sample again, from its version, seed and settings, and show the difference
///
/// The whole work item that drew it is run again. The samples are equal on the machine and settings that made them.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("sample").required(true).args(["attempt", "problem"]))]
pub(super) struct Regenerate {
    /// An attempt
    #[arg(long)]
    attempt: Option<Uuid>,
    /// A problem, to generate its proposal again
    #[arg(long)]
    problem: Option<Uuid>,
    /// Wait for the end and print the result; exits with 1 if it failed
    #[arg(long)]
    watch: bool,
}

impl Regenerate {
    pub(super) fn run(self, client: &Client) -> anyhow::Result<ExitCode> {
        let spec = match (self.attempt, self.problem) {
            (Some(attempt), _) => json!({"type": "regenerate", "attempt": attempt}),
            (None, problem) => json!({"type": "regenerate", "problem": problem}),
        };
        create(client, &spec, 0, self.watch)
    }
}
