//! The worker that `lyceum up` runs.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::{File, FileError};

/// The local worker.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[command(next_help_heading = "Local worker")]
pub struct WorkerArgs {
    /// The worker's program [default: lyceum-worker beside this program, else on the path]
    #[arg(long, env = "LYCEUM_WORKER", value_name = "FILE")]
    worker: Option<PathBuf>,

    /// Run no worker: work waits for one that is started elsewhere
    #[arg(long, env = "LYCEUM_NO_WORKER", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    no_worker: Option<bool>,
}

/// The local worker, as resolved.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its program, if it is not the one beside this.
    pub program: Option<PathBuf>,
    /// Whether there is one.
    pub wanted: bool,
}

impl WorkerArgs {
    /// Fills up from the file and the defaults.
    ///
    /// # Errors
    /// A value of the file that is wrong.
    pub fn resolve(self, file: &File) -> Result<Worker, FileError> {
        let stored: Self = file.group()?;
        Ok(Worker {
            program: self.worker.or(stored.worker),
            wanted: !self.no_worker.or(stored.no_worker).unwrap_or(false),
        })
    }
}
