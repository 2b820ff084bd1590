//! `lyceum-worker recheck`: judges a sample of a run's verdicts again.

use std::io::Write as _;

use anyhow::{bail, ensure};
use clap::Args;
use lyceum_store::Remote;
use lyceum_verifier::Verifier;
use lyceum_worker::pool::PoolArgs;
use lyceum_worker::recheck::{Counts, Recheck as Sample};
use uuid::Uuid;

/// Judge a sample of a run's verdicts again on this machine, and compare
///
/// For runs whose workers are on machines that you do not control: nothing else does their work
/// twice. Changes nothing on the server.
///
///   lyceum-worker recheck RUN --share 0.05 --server http://lyceum.example:8080
///
/// Each verdict that is another here is printed as a line of JSON, and the counts by worker to
/// standard error. Exits with 1 if there is one. A slower or faster machine may find `timeout` where
/// another does not, and one with other packages may run what another cannot; use the same
/// interpreter.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Recheck {
    /// The run's id.
    #[arg(value_name = "RUN")]
    run: Uuid,
    /// The share of verdicts to judge again, from 0 to 1, drawn at random.
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, value_parser = share)]
    share: f64,
    /// The server.
    #[arg(long, env = "LYCEUM_SERVER", value_name = "URL")]
    server: String,
    /// A server token with scope read.
    #[arg(long, env = "LYCEUM_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: String,
    #[command(flatten)]
    pool: PoolArgs,
}

impl Recheck {
    /// Judges and compares.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let config = self.pool.config();
        let verifier = Verifier::start(&config)?;
        let sample = Sample {
            server: &Remote::new(&self.server, &self.token),
            verifier: &verifier,
            at_once: 2 * config.jobs.max(1),
            share: self.share,
        };
        let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let mut lines = Ok(());
        let counts = threads.block_on(sample.run(self.run, |difference| {
            let line = serde_json::to_string(&difference).map_err(anyhow::Error::from);
            let written = line.and_then(|line| Ok(writeln!(std::io::stdout(), "{line}")?));
            if lines.is_ok() {
                lines = written;
            }
        }))?;
        lines?;
        let mut all = Counts::default();
        for (worker, of_worker) in &counts {
            eprintln!("{worker}: {}", said(of_worker));
            all.verdicts += of_worker.verdicts;
            all.judged += of_worker.judged;
            all.different += of_worker.different;
        }
        ensure!(all.verdicts > 0, "run {} has no finished verdicts", self.run);
        if all.different > 0 {
            bail!("run {}: {}", self.run, said(&all));
        }
        Ok(())
    }
}

fn said(counts: &Counts) -> String {
    let Counts { verdicts, judged, different } = counts;
    format!("{different} differ of {judged} that were judged again, of {verdicts}")
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= 1.0 => Ok(value),
        _ => Err("not a share above 0 and up to 1".to_owned()),
    }
}
