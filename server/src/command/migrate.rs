//! `lyceum migrate`.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use crate::database;
use crate::settings::{CommonArgs, DatabaseArgs, Sources};

/// Bring a database of your own up to this release
///
/// `lyceum up` and `lyceum server` do this at their start; this command does it ahead of time, for example with an
/// account that may change tables when the server's may not.
#[derive(Args, Debug)]
pub(crate) struct Migrate {
    #[command(flatten)]
    database: DatabaseArgs,
}

impl Migrate {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let sources = Sources::read(common)?;
        let settings = self.database.resolve(&sources.file)?;
        sources.log.start();
        let url = settings
            .url
            .context("no database named; give its address in DATABASE_URL or with --database-url")?;
        super::runtime()?.block_on(async {
            database::open(&url, settings.connections).await?;
            println!("{url} is up to date");
            Ok(ExitCode::SUCCESS)
        })
    }
}
