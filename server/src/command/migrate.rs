//! `lyceum migrate`.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use lyceum_store::worker_role;

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

    /// Also give this role what a worker needs, and take all other rights on Lyceum's tables from it; repeat it with each
    /// release
    #[arg(long, value_name = "ROLE")]
    worker_role: Option<String>,
}

impl Migrate {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let sources = Sources::read(common)?;
        let settings = self.database.resolve(&sources.file)?;
        sources.log.start();
        let url = settings.url.context("no database named; give its address in DATABASE_URL or with --database-url")?;
        super::runtime()?.block_on(async {
            let store = database::open(&url, settings.connections).await?;
            println!("{url} is up to date");
            if let Some(role) = self.worker_role {
                let admitted = worker_role::admit(store.pool(), &role).await;
                admitted.with_context(|| {
                    format!("the role `{role}` cannot be given a worker's rights; create it with `createuser`")
                })?;
                println!("{role} has the rights of a worker");
            }
            Ok(ExitCode::SUCCESS)
        })
    }
}
