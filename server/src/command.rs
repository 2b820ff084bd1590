//! The commands, one per file.

pub(crate) mod benchmark;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dataset;
pub(crate) mod doctor;
pub(crate) mod evaluation;
pub(crate) mod experiment;
pub(crate) mod goalposts;
pub(crate) mod man;
pub(crate) mod migrate;
pub(crate) mod openapi;
pub(crate) mod output;
pub(crate) mod problem;
pub(crate) mod record_crash;
pub(crate) mod run;
pub(crate) mod server;
mod server_args;
mod table;
pub(crate) mod token;
pub(crate) mod top;
pub(crate) mod up;

use anyhow::Context as _;

/// The runtime for a command's asynchronous part.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Runtime::new().context("cannot start threads")
}
