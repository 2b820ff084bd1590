//! The commands, one per file, and the server that they talk to.

pub(crate) mod adapter;
pub(crate) mod benchmark;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dataset;
pub(crate) mod doctor;
pub(crate) mod environment;
pub(crate) mod evaluation;
pub(crate) mod experiment;
pub(crate) mod goalposts;
pub(crate) mod migrate;
pub(crate) mod output;
pub(crate) mod problem;
pub(crate) mod prompts;
pub(crate) mod record_crash;
pub(crate) mod reward;
pub(crate) mod run;
pub(crate) mod server;
pub(crate) mod token;
pub(crate) mod top;
pub(crate) mod up;

use anyhow::Context as _;
use clap::Args;

use crate::client::Client;
use crate::settings::{CommonArgs, Secret, Sources};

/// The runtime for a command's asynchronous part.
pub(crate) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Runtime::new().context("cannot start threads")
}

/// The server and the token for it.
#[derive(Args, Debug)]
pub(crate) struct ServerArgs {
    /// The server's address [default: that of the data folder's server]
    #[arg(long, global = true, env = "LYCEUM_URL", value_name = "URL")]
    url: Option<String>,

    /// The token [default: the data folder's admin token]
    #[arg(long, global = true, env = "LYCEUM_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    token: Option<Secret>,
}

impl ServerArgs {
    /// A client of the server.
    pub(crate) fn client(self, common: CommonArgs) -> anyhow::Result<Client> {
        let sources = Sources::read(common)?;
        Client::new(self.url, self.token, &sources.data)
    }
}
