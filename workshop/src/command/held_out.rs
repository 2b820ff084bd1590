//! `lyceum-workshop held-out`: a benchmark suite for the seedling.

use std::{collections::BTreeMap, path::PathBuf};

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
/// to 5. Types and levels take turns: any number of rows from the first has nearly equal shares. The same config,
/// number and programs left out give the same file.
///
///   lyceum-workshop held-out --out held-out-seedling.jsonl
///   lyceum benchmark import held-out-seedling held-out-seedling.jsonl
///
/// Problems to choose settings on, none about a program of the suite above:
///
///   lyceum-workshop held-out --skip 200 --out development.jsonl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HeldOut {
    /// Output file.
    #[arg(long, value_name = "FILE.jsonl")]
    out: PathBuf,
    /// Problems of each type; a multiple of 5, divided equally among the levels.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(5..=5000))]
    problems: u32,
    /// Leave out the first programs of each level. A suite of N problems of each type uses at most the first N of a level.
    #[arg(long, value_name = "PROGRAMS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=5000))]
    skip: u32,
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
        let programs = programs(&described, share, self.skip as usize, &verifier);
        let rows = rows(&described, &programs, share)?;
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        // The output must be readable by an import.
        reader::read(suite("held-out-seedling")?, text.as_bytes(), &reader::Window::default())?;
        write_lines(&self.out, &rows)?;
        println!("{} problems about {} programs", rows.len(), programs.len());
        Ok(())
    }
}

/// Held-out programs of every level but the first `skip` of each: `share` that can be posed as problems, or a few more.
pub(super) fn programs(described: &Described, share: usize, skip: usize, verifier: &Verifier) -> Vec<Executed> {
    // One program in this many is held out; take half as many again, since some are too long to be posed.
    let wanted = (share + skip) * described.corpus.hold_out_one_in as usize * 3 / 2;
    let mut held_out = part(described, &Level::ALL, wanted, verifier).held_out;
    let mut seen: BTreeMap<u8, usize> = BTreeMap::new();
    held_out.retain(|executed| {
        let before = seen.entry(executed.level.number()).or_default();
        *before += 1;
        *before > skip
    });
    held_out
}

pub(super) fn rows(described: &Described, programs: &[Executed], share: usize) -> anyhow::Result<Vec<Value>> {
    let posing = Posing {
        described,
        kinds: &[ProblemKind::CodeO, ProblemKind::CodeI, ProblemKind::CodeF],
        levels: &Level::ALL,
        share,
    };
    Ok(named("seedling", posing.in_turn(programs)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn any_number_of_the_rows_that_ship_has_all_types_and_levels() {
        let text = include_str!("../../../configs/datasets/held-out-seedling.jsonl");
        let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), 300);
        for turn in rows.chunks(15) {
            let groups: BTreeSet<String> = turn
                .iter()
                .map(|row| format!("{} {}", row["type"], row["level"]))
                .collect();
            assert_eq!(groups.len(), 15, "{groups:?}");
        }
    }
}
