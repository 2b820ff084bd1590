//! Golden runs: whether two builds come to the same rows, on the real engine.
//!
//! A recording holds the rows of one run of each recipe that ships, played by one build on this machine. Identifiers are
//! replaced by what they name and clocks are left out, so two recordings of the same program are equal.

mod build;
mod difference;
mod key;
mod names;
mod plays;
mod projection;
mod recording;
mod renames;
mod tables;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use std::{path::PathBuf, process::ExitCode, time::Duration};

use crate::{difference::report, recording::Recording};

/// Whether two builds come to the same rows
///
/// Exits with 0 where they do, with 1 where they differ, and with 2 when that could not be found out.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play the golden runs with one build and write down their rows
    Record {
        /// The folder of the build's `lyceum` and `lyceum-worker`
        #[arg(long, value_name = "FOLDER")]
        binaries: PathBuf,
        /// Where to write the recording
        #[arg(long, value_name = "FILE")]
        to: PathBuf,
        #[command(flatten)]
        play: Play,
    },
    /// Compare two recordings
    Compare {
        /// The recording of the older build
        old: PathBuf,
        /// The recording of the newer build
        new: PathBuf,
    },
    /// Record two builds and compare them
    Check {
        /// The folder of the older build's `lyceum` and `lyceum-worker`
        #[arg(long, value_name = "FOLDER")]
        old: PathBuf,
        /// The folder of the newer build's
        #[arg(long, value_name = "FOLDER")]
        new: PathBuf,
        #[command(flatten)]
        play: Play,
    },
}

#[derive(Args)]
struct Play {
    /// A value over the golden runs' own, such as `seed=2`; may be given again
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// How long one build may take, in minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    limit: u64,
}

impl Play {
    async fn record(&self, name: &str, binaries: &std::path::Path) -> Result<Recording> {
        let limit = Duration::from_secs(60 * self.limit);
        build::record(name, binaries, &self.overrides, limit).await
    }
}

// One thread, this one, starts the builds: they are told to stop when the thread that started them is gone.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(Arguments::parse().command).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("golden: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Whether what was asked for came out equal.
async fn run(command: Command) -> Result<bool> {
    match command {
        Command::Record { binaries, to, play } => {
            let recording = play.record("build", &binaries).await?;
            recording.write(&to)?;
            println!("{recording}");
            Ok(true)
        }
        Command::Compare { old, new } => compare(Recording::read(&old)?, Recording::read(&new)?),
        Command::Check { old, new, play } => {
            let older = play.record("old", &old).await?;
            let newer = play.record("new", &new).await?;
            compare(older, newer)
        }
    }
}

fn compare(mut old: Recording, mut new: Recording) -> Result<bool> {
    for recording in [&mut old, &mut new] {
        recording.modernise()?;
    }
    let differences = old.differences(&new);
    if differences.is_empty() {
        println!("{old}\nEvery row is equal.");
    } else {
        println!("{}", report(&differences));
    }
    Ok(differences.is_empty())
}
