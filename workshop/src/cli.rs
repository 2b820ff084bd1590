//! The command line: one variant per command, each defined in its own file below `command/`.

use clap::{Parser, Subcommand};

use crate::command::bench::Bench;
use crate::command::held_out::HeldOut;
use crate::command::pretrain::Pretrain;
use crate::command::questions::Questions;
use crate::command::training::Training;

/// Makes the seedling, the small model that Lyceum's demo runs start from, and benchmarks parts of Lyceum. It is not
/// needed to run Lyceum.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(Bench),
    HeldOut(HeldOut),
    Pretrain(Pretrain),
    Questions(Questions),
    Training(Training),
}

impl Cli {
    /// Runs the chosen command to its end.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Bench(command) => command.run(),
            Command::HeldOut(command) => command.run(),
            Command::Pretrain(command) => command.run(),
            Command::Questions(command) => command.run(),
            Command::Training(command) => command.run(),
        }
    }
}
