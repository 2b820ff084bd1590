//! `lyceum prompts`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use clap::{Args, Subcommand};

use crate::supervise::worker::find;

/// Try prompt sets on a model
#[derive(Args, Debug)]
pub(crate) struct Prompts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Try a prompt set on a model: what it answers and proposes, and how much of that can be read
    ///
    ///   lyceum prompts try --set instruct --model Qwen/Qwen2.5-Coder-0.5B-Instruct --dtype bf16
    ///
    /// The engine is the worker's, so this is `lyceum-worker prompts`; --help shows its options.
    #[command(disable_help_flag = true, verbatim_doc_comment)]
    Try {
        /// Options of `lyceum-worker prompts`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<OsString>,
    },
}

impl Prompts {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let Action::Try { options } = self.action;
        let worker = find(None)?;
        let error = Command::new(&worker).arg("prompts").args(options).exec();
        Err(error).with_context(|| format!("cannot start {}", worker.display()))
    }
}
