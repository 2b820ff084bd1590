//! `lyceum-workshop bench`: measures one part of the product, together with peers or limits in the same run.

mod evolve;
mod floor;
mod grade;
mod rollout;
mod shape;
mod spent;
mod update;
mod verify;

use clap::{Args, Subcommand};

/// Measure a part of the product, together with a peer or a limit in the same run.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {
    Evolve(evolve::BenchEvolve),
    Grade(grade::BenchGrade),
    Rollout(rollout::BenchRollout),
    Update(update::BenchUpdate),
    Verify(verify::BenchVerify),
}

impl Bench {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        match &self.part {
            Part::Evolve(bench) => bench.run(),
            Part::Grade(bench) => bench.run(),
            Part::Rollout(bench) => bench.run(),
            Part::Update(bench) => bench.run(),
            Part::Verify(bench) => bench.run(),
        }
    }
}
