//! Settings of groups of processes.

use std::path::PathBuf;

/// How groups are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorchrunSettings {
    /// An interpreter with torch, transformers, peft and safetensors.
    pub python: PathBuf,
    /// Processes of a group; with GPUs, one for each.
    pub processes: u16,
    /// `cpu`, or `auto` for GPUs if there are any.
    pub device: String,
}

/// Why groups cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum TorchrunError {
    /// The interpreter cannot be started.
    #[error("{} cannot be started (--torchrun-python): {source}", python.display())]
    Start {
        /// The interpreter.
        python: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The interpreter lacks packages, or is something else.
    #[error("{} cannot train (--torchrun-python): {reason}", python.display())]
    Unfit {
        /// The interpreter.
        python: PathBuf,
        /// What it said.
        reason: String,
    },
}
