//! Which server a command talks to.

use clap::Args;

use crate::client::Client;
use crate::settings::{CommonArgs, Secret, Sources};

/// The server and the token for it.
#[derive(Args, Debug)]
pub(super) struct ServerArgs {
    /// The server's address [default: that of the server in the data folder]
    #[arg(long, global = true, env = "LYCEUM_URL", value_name = "URL")]
    url: Option<String>,

    /// The token [default: the admin token of the data folder]
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
    /// The server, as somebody with the token calls it.
    pub(super) fn client(self, common: CommonArgs) -> anyhow::Result<Client> {
        let sources = Sources::read(common)?;
        Client::new(self.url, self.token, &sources.data)
    }
}
