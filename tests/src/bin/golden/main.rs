//! Golden runs: checks that two builds produce the same rows on the real engine.
//!
//! A recording has the rows of one run of each built-in recipe, played by one build on this machine. Identifiers are
//! replaced by names and times are omitted, so two recordings of the same program are equal.

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
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::difference::report;
use crate::recording::Recording;

/// Check whether two builds produce the same rows
///
/// Exits with 0 if they do, 1 if they differ, 2 on errors.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Play the golden runs with one build and record their rows
    Record {
        /// Folder with the build's `lyceum` and `lyceum-worker`
        #[arg(long, value_name = "FOLDER")]
        binaries: PathBuf,
        /// File for the recording
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
        /// Folder with the older build's `lyceum` and `lyceum-worker`
        #[arg(long, value_name = "FOLDER")]
        old: PathBuf,
        /// Folder with the newer build's
        #[arg(long, value_name = "FOLDER")]
        new: PathBuf,
        #[command(flatten)]
        play: Play,
    },
}

#[derive(Args)]
struct Play {
    /// Override a config value of the golden runs, such as `seed=2`; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    overrides: Vec<String>,
    /// Time limit per build, in minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 30)]
    limit: u64,
}

impl Play {
    async fn record(&self, name: &str, binaries: &std::path::Path) -> Result<Recording> {
        let limit = Duration::from_secs(60 * self.limit);
        build::record(name, binaries, &self.overrides, limit).await
    }
}

// Builds are started from the main thread, because they are stopped when the thread that started them ends.
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

/// Whether the builds or recordings are equal.
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
