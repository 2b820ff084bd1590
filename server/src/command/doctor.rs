//! `lyceum doctor`.

use std::process::ExitCode;

use clap::Args;

use crate::doctor::{Finding, Subject, Verdict, examine};
use crate::settings::{CommonArgs, DatabaseArgs, ServerArgs, Sources, WorkerArgs};

/// Check this machine for problems and suggest fixes
///
/// Uses the same settings as `lyceum up` and changes nothing. The exit code is 0 if there are no errors; warnings do
/// not count.
#[derive(Args, Debug)]
pub(crate) struct Doctor {
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    worker: WorkerArgs,
}

impl Doctor {
    pub(crate) fn run(self, common: CommonArgs) -> anyhow::Result<ExitCode> {
        let sources = Sources::read(common)?;
        let subject = Subject {
            server: self.server.resolve(&sources.file)?,
            database: self.database.resolve(&sources.file)?,
            worker: self.worker.resolve(&sources.file)?,
            data: sources.data,
        };
        let findings = super::runtime()?.block_on(examine(&subject));
        for finding in &findings {
            print!("{}", line(finding));
        }
        let bad = findings.iter().filter(|finding| matches!(finding.verdict, Verdict::Bad { .. })).count();
        Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn line(finding: &Finding) -> String {
    let what = &finding.what;
    match &finding.verdict {
        Verdict::Good => format!("good     {what}\n"),
        Verdict::Lacking { cure } => format!("lacking  {what}\n         cure: {cure}\n"),
        Verdict::Bad { cure } => format!("BAD      {what}\n         cure: {cure}\n"),
    }
}
