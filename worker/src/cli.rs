//! The command line: one variant per command, each defined in its own file below `command/`.

use clap::{Parser, Subcommand};

#[cfg(feature = "engine")]
use crate::command::devices::Devices;
#[cfg(feature = "engine")]
use crate::command::evolve::Evolve;
use crate::command::grade::Grade;
#[cfg(feature = "engine")]
use crate::command::merge::Merge;
#[cfg(feature = "engine")]
use crate::command::prompts::Prompts;
use crate::command::recheck::Recheck;
#[cfg(feature = "engine")]
use crate::command::rollout::Rollout;
use crate::command::run::Run;
#[cfg(feature = "engine")]
use crate::command::score::Score;
#[cfg(feature = "engine")]
use crate::command::update::Update;
use crate::command::verify::Verify;
use crate::command::work::Work;

/// Take work from a Lyceum server and run it, or run any kind of work from files
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "engine")]
    Devices(Devices),
    #[cfg(feature = "engine")]
    Evolve(Evolve),
    Grade(Grade),
    #[cfg(feature = "engine")]
    Merge(Merge),
    #[cfg(feature = "engine")]
    Prompts(Prompts),
    #[cfg(feature = "engine")]
    Rollout(Rollout),
    Recheck(Recheck),
    Run(Run),
    #[cfg(feature = "engine")]
    Score(Score),
    #[cfg(feature = "engine")]
    Update(Update),
    Verify(Verify),
    Work(Work),
}

impl Cli {
    /// Runs the chosen command.
    pub(crate) fn run(self) -> anyhow::Result<()> {
        match self.command {
            #[cfg(feature = "engine")]
            Command::Devices(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Evolve(command) => command.run(),
            Command::Grade(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Merge(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Prompts(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Rollout(command) => command.run(),
            Command::Recheck(command) => command.run(),
            Command::Run(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Score(command) => command.run(),
            #[cfg(feature = "engine")]
            Command::Update(command) => command.run(),
            Command::Verify(command) => command.run(),
            Command::Work(command) => command.run(),
        }
    }
}
