//! `lyceum record-crash`.

use std::process::ExitCode;

use anyhow::Context as _;
use chrono::Utc;
use clap::Args;
use lyceum_store::{Store, crashes};

use crate::settings::{CommonArgs, DatabaseArgs, Sources};
use crate::supervise::host;

/// Record that a program ended although nobody stopped it, so that the page / shows it
///
/// For ExecStopPost= in units of systemd, which says in the environment how the unit's program ended. After an orderly stop it
/// does nothing. `lyceum up` records the ends of its own processes by itself.
#[derive(Args, Debug)]
pub(crate) struct RecordCrash {
    /// The program, as the page names it
    program: String,

    /// How it ended; `success` is not a crash
    #[arg(long, env = "SERVICE_RESULT", value_name = "RESULT")]
    result: String,

    /// Whether it exited or was killed
    #[arg(long, env = "EXIT_CODE", value_name = "CODE", default_value = "")]
    exit_code: String,

    /// Its exit status, or the name of the signal
    #[arg(long, env = "EXIT_STATUS", value_name = "STATUS", default_value = "")]
    exit_status: String,

    #[command(flatten)]
    database: DatabaseArgs,
}

impl RecordCrash {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        if self.result == "success" {
            return Ok(ExitCode::SUCCESS);
        }
        let sources = Sources::read(common)?;
        let settings = self.database.resolve(&sources.file)?;
        let url = settings.url.context("no database named; give its address in DATABASE_URL or with --database-url")?;
        let cause = format!("{}: {} {}", self.result, self.exit_code, self.exit_status);
        let cause = cause.trim_end().trim_end_matches(':');
        super::runtime()?.block_on(async {
            let store = Store::connect(url.expose(), 1).await?;
            crashes::record(store.pool(), &host(), &self.program, cause, "", Utc::now()).await?;
            Ok(ExitCode::SUCCESS)
        })
    }
}
