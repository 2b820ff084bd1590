//! The server a command talks to.

use clap::Args;

use crate::client::Client;
use crate::settings::{CommonArgs, Secret, Sources};

/// The server and the token for it.
#[derive(Args, Debug)]
pub(super) struct ServerArgs {
    /// The server's address [default: that of the data folder's server]
    #[arg(long, global = true, env = "LYCEUM_URL", value_name = "URL")]
    url: Option<String>,

    /// The token [default: the data folder's admin token]
    #[arg(
        long,
        global = true,
        env = "LYCEUM_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN"
    )]
    token: Option<Secret>,
}

impl ServerArgs {
    /// A client of the server.
    pub(super) fn client(self, common: CommonArgs) -> anyhow::Result<Client> {
        let sources = Sources::read(common)?;
        Client::new(self.url, self.token, &sources.data)
    }
}
