//! `lyceum-workshop held-out`: a benchmark suite for the seedling.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use lyceum_core::benchmark::{reader, suite};
use lyceum_core::verify::ProblemKind;
use lyceum_curriculum::{Executed, Level};
use lyceum_verifier::Verifier;
use lyceum_worker::lines::write_lines;
use lyceum_worker::pool::PoolArgs;
use serde_json::Value;

use super::posed::{Described, Posing, Source, named, part};

/// Write the suite `held-out-seedling`: problems about programs whose form was held out from the seedling's training.
///
/// Each program is used for three problems (find the output, the input, the program), with equal numbers for levels 1
/// to 5. The same config and number give the same file.
///
///   lyceum-workshop held-out --out held-out-seedling.jsonl
///   lyceum benchmark import held-out-seedling held-out-seedling.jsonl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HeldOut {
    /// Output file.
    #[arg(long, value_name = "FILE.jsonl")]
    out: PathBuf,
    /// Problems of each type; a multiple of 5, divided equally among the levels.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(5..=5000))]
    problems: u32,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    pool: PoolArgs,
}

impl HeldOut {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        ensure!(
            self.problems.is_multiple_of(5),
            "--problems {} is not a multiple of 5; the levels get equal shares",
            self.problems
        );
        let described = self.source.read()?;
        let verifier = Verifier::start(&self.pool.config())?;
        let share = self.problems as usize / Level::ALL.len();
        let programs = programs(&described, share, &verifier);
        let rows = rows(&described, &programs, share)?;
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        // The output must be readable by an import.
        reader::read(suite("held-out-seedling")?, text.as_bytes(), &reader::Window::default())?;
        write_lines(&self.out, &rows)?;
        println!("{} problems about {} programs", rows.len(), programs.len());
        Ok(())
    }
}

/// Held-out programs of every level: `share` of each that can be posed as problems, or a few more.
pub(super) fn programs(described: &Described, share: usize, verifier: &Verifier) -> Vec<Executed> {
    // One program in this many is held out; take half as many again, since some are too long to be posed.
    let wanted = share * described.corpus.hold_out_one_in as usize * 3 / 2;
    part(described, &Level::ALL, wanted, verifier).held_out
}

pub(super) fn rows(described: &Described, programs: &[Executed], share: usize) -> anyhow::Result<Vec<Value>> {
    let posing = Posing {
        described,
        kinds: &[ProblemKind::CodeO, ProblemKind::CodeI, ProblemKind::CodeF],
        levels: &Level::ALL,
        share,
    };
    Ok(named("seedling", posing.groups(programs)?.concat()))
}
