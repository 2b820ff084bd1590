//! Settings of the worker started by `lyceum up`.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::{File, FileError};

/// The local worker.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[command(next_help_heading = "Local worker")]
pub struct WorkerArgs {
    /// The worker's executable [default: lyceum-worker next to this one, else on the path]
    #[arg(long, env = "LYCEUM_WORKER", value_name = "FILE")]
    worker: Option<PathBuf>,

    /// Start no worker; work waits for one started elsewhere
    #[arg(long, env = "LYCEUM_NO_WORKER", num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    no_worker: Option<bool>,
}

/// The local worker, as resolved.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Its executable, if not the default.
    pub program: Option<PathBuf>,
    /// Whether there is one.
    pub wanted: bool,
}

impl WorkerArgs {
    /// Fills in missing values from the file and the defaults.
    ///
    /// # Errors
    /// A value in the file is invalid.
    pub fn resolve(self, file: &File) -> Result<Worker, FileError> {
        let stored: Self = file.group()?;
        Ok(Worker {
            program: self.worker.or(stored.worker),
            wanted: !self.no_worker.or(stored.no_worker).unwrap_or(false),
        })
    }
}
