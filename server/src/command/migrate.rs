//! `lyceum migrate`.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use crate::database;
use crate::settings::{CommonArgs, DatabaseArgs, Sources};

/// Migrate your own database to this release
///
/// `lyceum up` and `lyceum server` do this when they start. Use this command to do it beforehand, for example with an
/// account that may change tables if the server's may not.
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
