//! The command line: one variant per command, each defined in its own file below `command/`.

use clap::{Parser, Subcommand};

use crate::command::{bench::Bench, verify::Verify, work::Work};

/// Takes work from a Lyceum server and runs it, or runs any kind of work by hand from files.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(Bench),
    Verify(Verify),
    Work(Work),
}

impl Cli {
    /// Runs the chosen command to its end.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Bench(command) => command.run(),
            Command::Verify(command) => command.run(),
            Command::Work(command) => command.run(),
        }
    }
}
