//! The command line: one variant per command, each defined in its own file below `command/`.

use clap::{Parser, Subcommand};

use crate::command::{bench::Bench, grade::Grade, verify::Verify, work::Work};
#[cfg(feature = "engine")]
use crate::command::{
    evolve::Evolve, held_out::HeldOut, merge::Merge, pretrain::Pretrain, rollout::Rollout, score::Score, update::Update,
};

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
    #[cfg(feature = "engine")]
    Evolve(Evolve),
    Grade(Grade),
    #[cfg(feature = "engine")]
    HeldOut(HeldOut),
    #[cfg(feature = "engine")]
    Merge(Merge),
    #[cfg(feature = "engine")]
    Pretrain(Pretrain),
    #[cfg(feature = "engine")]
    Rollout(Rollout),
    #[cfg(feature = "engine")]
    Score(Score),
    #[cfg(feature = "engine")]
    Update(Update),
    Verify(Verify),
    Work(Work),
}

impl Cli {
    /// Runs the chosen command to its end.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.command {
            Command::Bench(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Evolve(command) => command.run(),
            Command::Grade(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::HeldOut(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Merge(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Pretrain(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Rollout(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Score(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Update(command) => command.run(),
            Command::Verify(command) => command.run(),
            Command::Work(command) => command.run(),
        }
    }
}
