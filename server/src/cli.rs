//! The command line; every command is defined in its own file below `command/`.

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::command;
use crate::command::output::reader_has_gone;
use crate::settings::CommonArgs;

/// A laboratory in which language models teach each other.
///
/// `lyceum up` is all that a single machine needs. On several machines, run `lyceum server` with your own Postgres and
/// `lyceum-worker` on every machine with a GPU.
///
/// Every setting is taken from its flag, else from the environment (LYCEUM_ and the flag's name in capitals), else from
/// the settings file (the flag's name with underscores). The settings file is lyceum.toml in the data folder, or the
/// one given by --config.
#[derive(Debug, Parser)]
#[command(name = "lyceum", version, arg_required_else_help = true, max_term_width = 120)]
pub struct Cli {
    #[command(flatten)]
    common: CommonArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Up(command::up::Up),
    Server(command::server::Server),
    Migrate(command::migrate::Migrate),
    Doctor(command::doctor::Doctor),
    Token(command::token::Token),
    Run(command::run::Run),
    Experiment(command::experiment::Experiment),
    Problem(command::problem::Problem),
    Top(command::top::Top),
    Dataset(command::dataset::Dataset),
    Reward(command::reward::Reward),
    Environment(command::environment::Environment),
    Adapter(command::adapter::Adapter),
    Benchmark(command::benchmark::Benchmark),
    Evaluation(command::evaluation::Evaluation),
    Compare(command::compare::Compare),
    Goalposts(command::goalposts::Goalposts),
    Config(command::config::Config),
    Prompts(command::prompts::Prompts),
    RecordCrash(command::record_crash::RecordCrash),
    Openapi(command::completions::Openapi),
    Completions(command::completions::Completions),
    Man(command::completions::Man),
}

impl Cli {
    /// Runs the chosen command.
    ///
    /// # Errors
    /// One that the user can act upon, to be printed on one line.
    pub fn run(self) -> anyhow::Result<ExitCode> {
        let ended = match self.command {
            Command::Up(up) => up.run(self.common),
            Command::Server(server) => server.run(self.common),
            Command::Migrate(migrate) => migrate.run(self.common),
            Command::Doctor(doctor) => doctor.run(self.common),
            Command::Token(token) => token.run(self.common),
            Command::Run(run) => run.run(self.common),
            Command::Experiment(experiment) => experiment.run(self.common),
            Command::Problem(problem) => problem.run(self.common),
            Command::Top(top) => top.run(self.common),
            Command::Dataset(dataset) => dataset.run(self.common),
            Command::Reward(reward) => reward.run(self.common),
            Command::Environment(environment) => environment.run(),
            Command::Adapter(adapter) => adapter.run(self.common),
            Command::Benchmark(benchmark) => benchmark.run(self.common),
            Command::Evaluation(evaluation) => evaluation.run(self.common),
            Command::Compare(compare) => compare.run(self.common),
            Command::Goalposts(goalposts) => goalposts.run(self.common),
            Command::Config(config) => config.run(),
            Command::Prompts(prompts) => prompts.run(),
            Command::RecordCrash(crash) => crash.run(self.common),
            Command::Openapi(openapi) => openapi.run(),
            Command::Completions(completions) => completions.run(Self::command()),
            Command::Man(man) => man.run(Self::command()),
        };
        match ended {
            Err(error) if reader_has_gone(&error) => Ok(ExitCode::SUCCESS),
            ended => ended,
        }
    }
}
