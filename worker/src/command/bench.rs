//! `lyceum-worker bench`: measures one part of the worker, beside peers or limits in the same run.

#[cfg(feature = "engine")]
mod evolve;
mod grade;
#[cfg(feature = "engine")]
mod rollout;
#[cfg(feature = "engine")]
mod update;

use clap::{Args, Subcommand};

use super::bench_verify::BenchVerify;

/// Measure a part of the worker, with a peer or a limit beside it in the same run.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    #[cfg(feature = "engine")]
    Evolve(evolve::BenchEvolve),
    Grade(grade::BenchGrade),
    #[cfg(feature = "engine")]
    Rollout(rollout::BenchRollout),
    #[cfg(feature = "engine")]
    Update(update::BenchUpdate),
    Verify(BenchVerify),
}

impl Bench {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.part {
            #[cfg(feature = "engine")]
            Part::Evolve(bench) => bench.run(),
            Part::Grade(bench) => bench.run(),
            #[cfg(feature = "engine")]
            Part::Rollout(bench) => bench.run(),
            #[cfg(feature = "engine")]
            Part::Update(bench) => bench.run(),
            Part::Verify(bench) => bench.run(),
        }
    }
}
