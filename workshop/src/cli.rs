//! The command line: one variant per command, each defined in its own file below `command/`.

use anyhow::bail;
use clap::{Parser, Subcommand};

use crate::command::bench::Bench;
use crate::command::effects::Effects;
use crate::command::pretrain::Pretrain;

/// Train small bases and benchmark parts of Lyceum. Running Lyceum does not need it.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Bench(Bench),
    Effects(Effects),
    Pretrain(Pretrain),
    #[command(external_subcommand)]
    Other(Vec<String>),
}

impl Cli {
    /// Runs the chosen command to its end.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Bench(command) => command.run(),
            Command::Effects(command) => command.run(),
            Command::Pretrain(command) => command.run(),
            Command::Other(arguments) => match arguments.first().map_or("", String::as_str) {
                name @ ("held-out" | "questions" | "training") => bail!(
                    "`{name}` was removed: the rows that it drew are in configs/experiment-rows and configs/datasets"
                ),
                name => bail!("unknown command `{name}`: bench, effects and pretrain are valid"),
            },
        }
    }
}
