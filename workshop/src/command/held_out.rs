//! `lyceum-workshop held-out`: a benchmark suite for the seedling.

use std::collections::{BTreeMap, BTreeSet};
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
use super::training::level;

/// Write the suite `held-out-seedling`: problems about programs whose form was held out from the seedling's training.
///
/// Each program is used for one problem of each type (find the output, the input, the program), with equal numbers for
/// levels 1 to 5, or those of --levels. Types and levels take turns: any number of rows from the first has nearly equal shares. The same config,
/// number, types and programs left out give the same file.
///
///   lyceum-workshop held-out --out held-out-seedling.jsonl
///   lyceum benchmark import held-out-seedling held-out-seedling.jsonl
///
/// The suite `held-out-outputs`:
///
///   lyceum-workshop held-out --types code_o --out held-out-outputs.jsonl
///
/// Problems to choose settings on, none about a program of the suite above:
///
///   lyceum-workshop held-out --skip 200 --out development.jsonl
///
/// Hard ones, from which goalposts are filtered (`lyceum goalposts make`):
///
///   lyceum-workshop held-out --types code_f --levels 3,4,5 --problems 300 --skip 100 --out candidates.jsonl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HeldOut {
    /// Output file.
    #[arg(long, value_name = "FILE.jsonl")]
    out: PathBuf,
    /// Problems of each type; a multiple of the number of levels, which get equal shares.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=5000))]
    problems: u32,
    /// Leave out the first programs of each level. A suite of N problems of each type uses at most the first N of a level.
    #[arg(long, value_name = "PROGRAMS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=5000))]
    skip: u32,
    /// Levels of difficulty, from 1 (one expression) to 5 (several loops).
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', default_value = "1,2,3,4,5", value_parser = level)]
    levels: Vec<Level>,
    /// Types of problem.
    #[arg(long, value_name = "TYPES", value_delimiter = ',', default_value = "code_o,code_i,code_f", value_parser = triple)]
    types: Vec<ProblemKind>,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    pool: PoolArgs,
}

impl HeldOut {
    pub(crate) fn run(mut self) -> anyhow::Result<()> {
        self.levels.sort_unstable();
        self.levels.dedup();
        let levels = self.levels.len();
        ensure!(
            (self.problems as usize).is_multiple_of(levels),
            "--problems {} is not a multiple of {levels}, the number of levels, which get equal shares",
            self.problems
        );
        let described = self.source.read()?;
        let verifier = Verifier::start(&self.pool.config())?;
        let share = self.problems as usize / levels;
        let programs = programs(&described, &self.levels, share, self.skip as usize, &verifier);
        let rows = rows(&described, &programs, &self.types, &self.levels, share)?;
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        // The output must be readable by an import.
        reader::read(suite("held-out-seedling")?, text.as_bytes(), &reader::Window::default())?;
        write_lines(&self.out, &rows)?;
        let programs: BTreeSet<&str> = rows.iter().filter_map(|row| row["program"].as_str()).collect();
        println!("{} problems about {} programs", rows.len(), programs.len());
        Ok(())
    }
}

/// Held-out programs of these levels but the first `skip` of each: `share` that can be posed as problems, or a few more.
pub(super) fn programs(
    described: &Described,
    levels: &[Level],
    share: usize,
    skip: usize,
    verifier: &Verifier,
) -> Vec<Executed> {
    // One program in this many is held out; take half as many again, since some are too long to be posed.
    let wanted = (share + skip) * described.corpus.hold_out_one_in as usize * 3 / 2;
    let mut held_out = part(described, levels, wanted, verifier).held_out;
    let mut seen: BTreeMap<u8, usize> = BTreeMap::new();
    held_out.retain(|executed| {
        let before = seen.entry(executed.level.number()).or_default();
        *before += 1;
        *before > skip
    });
    held_out
}

/// A type of self-play's problems, by name.
fn triple(name: &str) -> Result<ProblemKind, String> {
    let found = ProblemKind::TRIPLES.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| format!("valid are {}", ProblemKind::TRIPLES.map(ProblemKind::name).join(", ")))
}

pub(super) fn rows(
    described: &Described,
    programs: &[Executed],
    kinds: &[ProblemKind],
    levels: &[Level],
    share: usize,
) -> anyhow::Result<Vec<Value>> {
    let posing = Posing { described, kinds, levels, share };
    Ok(named("seedling", posing.in_turn(programs)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_the_rows_that_ship_has_all_types_and_levels() {
        for (text, types) in [
            (include_str!("../../../configs/datasets/held-out-seedling.jsonl"), 3),
            (include_str!("../../../configs/datasets/held-out-outputs.jsonl"), 1),
        ] {
            let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(rows.len(), 300);
            for turn in rows.chunks(5 * types) {
                let groups: BTreeSet<String> =
                    turn.iter().map(|row| format!("{} {}", row["type"], row["level"])).collect();
                assert_eq!(groups.len(), 5 * types, "{groups:?}");
            }
        }
    }

    #[test]
    fn types_are_those_of_self_play() {
        assert_eq!(triple("code_f"), Ok(ProblemKind::CodeF));
        assert_eq!(triple("math").unwrap_err(), "valid are code_i, code_o, code_f");
    }
}
