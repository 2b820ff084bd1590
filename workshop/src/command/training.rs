//! `lyceum-workshop training`: problems for the seedling to learn from.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, ensure};
use clap::Args;
use lyceum_core::dataset::{Purpose, RowCheck};
use lyceum_core::verify::ProblemKind;
use lyceum_curriculum::steps::{Axis, Steps};
use lyceum_curriculum::{Executed, Level};
use lyceum_verifier::Verifier;
use lyceum_worker::lines::write_lines;
use lyceum_worker::pool::PoolArgs;
use serde::Deserialize;
use serde_json::Value;

use super::posed::{Described, Posing, Source, named, part};

/// Write problems to learn from, about programs of the seedling's training split.
///
/// No program has a form that occurs in the suite `held-out-seedling`, so that suite measures
/// what a run learned. Types and levels take turns: any number of rows from the first has nearly
/// equal shares. The same config, number, types and levels give the same file.
///
///   lyceum-workshop training --out seedling-training.jsonl
///   lyceum dataset import seedling-training.jsonl --purpose training --name mine
///   lyceum run create --preset rlvr-seedling --set parameters.dataset.name=mine
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Training {
    /// Output file.
    #[arg(long, value_name = "FILE.jsonl")]
    out: PathBuf,
    /// Problems of each type; a multiple of the number of levels, which get equal shares.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    problems: u32,
    /// Levels of difficulty, from 1 (one expression) to 5 (several loops).
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', default_value = "1,2,3,4", value_parser = level)]
    levels: Vec<Level>,
    /// Rather than these, problems of type code_f about programs that are easier than those behind the problems in this file: a
    /// level lower, for inputs of the same form, with a similar message. And about programs that are easier than those, down to
    /// level 1.
    #[arg(long, value_name = "FILE.jsonl", conflicts_with_all = ["problems", "levels", "code_f"])]
    easier_than: Option<PathBuf>,
    /// Also problems of type code_f: find the program from pairs of input and output.
    #[arg(long)]
    code_f: bool,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    pool: PoolArgs,
}

impl Training {
    pub(crate) fn run(mut self) -> anyhow::Result<()> {
        self.levels.sort_unstable();
        self.levels.dedup();
        let share = equal_share(self.problems, &self.levels)?;
        let described = self.source.read()?;
        let verifier = Verifier::start(&self.pool.config())?;
        if let Some(path) = &self.easier_than {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            let goals = text.lines().enumerate().map(|(place, line)| {
                let row: Behind =
                    serde_json::from_str(line).with_context(|| format!("{} line {}", path.display(), place + 1))?;
                row.program()
            });
            let goals = goals.collect::<anyhow::Result<Vec<_>>>()?;
            let corpus = part(&described, &Level::ALL, usize::MAX, &verifier);
            let rows = easier(&described, &corpus.training, &goals)?;
            write_lines(&self.out, &rows)?;
            println!("{} problems", rows.len());
            return Ok(());
        }
        let programs = programs(&described, &self.levels, share, &verifier);
        let rows = rows(&described, &programs, self.kinds(), &self.levels, share)?;
        write_lines(&self.out, &rows)?;
        println!("{} problems", rows.len());
        Ok(())
    }

    fn kinds(&self) -> &'static [ProblemKind] {
        match self.code_f {
            true => &[ProblemKind::CodeO, ProblemKind::CodeI, ProblemKind::CodeF],
            false => &[ProblemKind::CodeO, ProblemKind::CodeI],
        }
    }
}

/// What a row tells of the program behind it.
#[derive(Deserialize)]
struct Behind {
    program: String,
    level: u8,
    #[serde(default)]
    pairs: Vec<(String, String)>,
}

impl Behind {
    fn program(self) -> anyhow::Result<Executed> {
        Ok(Executed {
            source: self.program,
            level: Level::try_from(self.level).map_err(anyhow::Error::msg)?,
            pairs: self.pairs,
            traces: Vec::new(),
            candidates: Vec::new(),
        })
    }
}

/// Problems about the programs among `programs` that are a step easier than one of `goals`, and than those in turn; the ones nearest to
/// the goals first.
fn easier(described: &Described, programs: &[Executed], goals: &[Executed]) -> anyhow::Result<Vec<Value>> {
    let all: Vec<&Executed> = programs.iter().chain(goals).collect();
    let steps = Steps::among(&all);
    let mut of: Vec<usize> = (programs.len()..all.len()).collect();
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    while !of.is_empty() {
        let next = of.iter().flat_map(|&at| steps.easier(Axis::F, at));
        let next = next.map(|&at| at as usize).filter(|at| *at < programs.len());
        of = next.filter(|at| seen.insert(*at)).collect();
        found.extend_from_slice(&of);
    }
    let posing = Posing { described, kinds: &[ProblemKind::CodeF], levels: &Level::ALL, share: 0 };
    let rows = named("seedling-easier", posing.each(found.into_iter().map(|at| all[at]))?);
    check_importable(&rows)?;
    Ok(rows)
}

pub(super) fn level(text: &str) -> Result<Level, String> {
    let number: u8 = text.parse().map_err(|_| format!("`{text}` is not a level; use 1 to 5"))?;
    Level::try_from(number)
}

/// Training programs of these levels: `share` of each that can be posed as problems, or a few more.
fn programs(described: &Described, levels: &[Level], share: usize, verifier: &Verifier) -> Vec<Executed> {
    // Half as many again, since some are too long to be posed.
    part(described, levels, share * 3 / 2 + 8, verifier).training
}

fn rows(
    described: &Described,
    programs: &[Executed],
    kinds: &[ProblemKind],
    levels: &[Level],
    share: usize,
) -> anyhow::Result<Vec<Value>> {
    let posing = Posing { described, kinds, levels, share };
    let rows = named("seedling-training", posing.in_turn(programs)?);
    check_importable(&rows)?;
    Ok(rows)
}

/// The rows of each level if all get the same number.
///
/// # Errors
/// A number that is not a multiple of the number of levels.
pub(super) fn equal_share(problems: u32, levels: &[Level]) -> anyhow::Result<usize> {
    let share = problems as usize / levels.len();
    ensure!(
        share * levels.len() == problems as usize,
        "--problems {problems} is not a multiple of {}, the number of levels, which get equal shares",
        levels.len()
    );
    Ok(share)
}

/// Refuses rows that could not be imported to learn from.
///
/// # Errors
/// The first row's place and fault.
pub(super) fn check_importable(rows: &[Value]) -> anyhow::Result<()> {
    let mut check = RowCheck::new(Purpose::Training, None);
    for (place, row) in rows.iter().enumerate() {
        let fault = |fault| anyhow!("row {place} cannot be imported: {fault:?}");
        check.check(place, row).map_err(fault)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use lyceum_core::dataset::fingerprints;
    use lyceum_curriculum::masked::masked_form;
    use lyceum_verifier::VerifierConfig;

    use super::*;
    use crate::command::held_out;

    fn described() -> Described {
        toml::from_str(
            "seed = 3
             [corpus]
             seed = 5
             programs = [80, 80, 80, 80, 80]
             inputs = 10
             hold_out_one_in = 5
             programs_per_form = 4
             [samples]
             num_inputs = 6",
        )
        .unwrap()
    }

    fn forms(rows: &[Value]) -> HashSet<String> {
        rows.iter().map(|row| masked_form(row["program"].as_str().unwrap())).collect()
    }

    #[test]
    fn training_problems_differ_from_each_other_and_in_form_from_held_out_ones() {
        let verifier = Verifier::start(&VerifierConfig::default()).unwrap();
        let described = described();
        let levels = [1, 3].map(|number| Level::try_from(number).unwrap());
        let made = |share| {
            let kinds = [ProblemKind::CodeO, ProblemKind::CodeI, ProblemKind::CodeF];
            let programs = programs(&described, &levels, share, &verifier);
            rows(&described, &programs, &kinds, &levels, share).unwrap()
        };
        let training = made(10);
        assert_eq!(training, made(10), "the same arguments give the same problems");
        for kind in ["code_o", "code_i", "code_f"] {
            for level in [1, 3] {
                let of = training.iter().filter(|row| row["type"] == kind && row["level"] == level);
                assert_eq!(of.count(), 10, "{kind} of level {level}");
            }
        }
        let first: HashSet<_> = training[..6].iter().map(|row| format!("{} {}", row["type"], row["level"])).collect();
        assert_eq!(first.len(), 6, "types and levels take turns");
        let questions: HashSet<_> = training.iter().map(|row| fingerprints(row).question).collect();
        assert_eq!(questions.len(), training.len(), "no problem occurs twice");

        let programs = held_out::programs(&described, &Level::ALL, 4, 0, &verifier);
        let held_out = held_out::rows(&described, &programs, &ProblemKind::TRIPLES, &Level::ALL, 4).unwrap();
        assert_eq!(held_out.len(), 3 * 5 * 4);
        assert!(forms(&training).is_disjoint(&forms(&held_out)));
        let others = held_out::programs(&described, &Level::ALL, 4, 8, &verifier);
        let others = held_out::rows(&described, &others, &ProblemKind::TRIPLES, &Level::ALL, 4).unwrap();
        let programs_of = |rows: &[Value]| -> HashSet<String> {
            let programs = rows.iter().map(|row| row["program"].as_str().unwrap().to_owned());
            programs.collect()
        };
        assert!(programs_of(&held_out).is_disjoint(&programs_of(&others)));
        assert!(forms(&training).iter().all(|form| !described.corpus.holds_out(form)));
    }

    #[test]
    fn the_rows_that_ship_are_of_the_split_that_the_shipped_config_describes() {
        let corpus = Source::default().read().unwrap().corpus;
        for (text, held_out) in [
            (include_str!("../../../configs/datasets/seedling-training.jsonl"), false),
            (include_str!("../../../configs/datasets/held-out-seedling.jsonl"), true),
            (include_str!("../../../configs/datasets/held-out-outputs.jsonl"), true),
        ] {
            let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(forms(&rows).iter().all(|form| corpus.holds_out(form) == held_out));
        }
    }

    #[test]
    fn easier_problems_are_of_lower_levels_for_inputs_of_the_same_form() {
        let verifier = Verifier::start(&VerifierConfig::default()).unwrap();
        let described = described();
        let corpus = part(&described, &Level::ALL, usize::MAX, &verifier);
        let goals: Vec<Executed> = corpus.held_out.into_iter().filter(|one| one.level.number() == 3).collect();
        let rows = easier(&described, &corpus.training, &goals).unwrap();
        assert!(!rows.is_empty());
        let definition = |source: &str| source.lines().next().unwrap().to_owned();
        let forms: HashSet<String> = goals.iter().map(|goal| definition(&goal.source)).collect();
        let levels: HashSet<u64> = rows.iter().map(|row| row["level"].as_u64().unwrap()).collect();
        assert!(levels.is_subset(&HashSet::from([1, 2])), "{levels:?}");
        assert!(
            rows.iter()
                .all(|row| row["type"] == "code_f" && forms.contains(&definition(row["program"].as_str().unwrap())))
        );
        let programs: HashSet<&str> = rows.iter().map(|row| row["program"].as_str().unwrap()).collect();
        assert_eq!(programs.len(), rows.len());
        let none = easier(&described, &corpus.training, &[]).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn too_many_problems_are_refused_with_the_number_that_there_are() {
        let verifier = Verifier::start(&VerifierConfig::default()).unwrap();
        let mut described = described();
        described.corpus.programs = [3; 5];
        let levels = [Level::ALL[0]];
        let programs = programs(&described, &levels, 50, &verifier);
        let refused = rows(&described, &programs, &[ProblemKind::CodeO], &levels, 50).unwrap_err();
        assert!(refused.to_string().contains("only 3 problems of type code_o and level 1"), "{refused}");
    }

    #[test]
    fn levels_are_numbers_from_one_to_five() {
        assert_eq!(level("5"), Ok(Level::ALL[4]));
        for wrong in ["0", "6", "easy", ""] {
            assert!(level(wrong).unwrap_err().contains("use 1 to 5"), "{wrong}");
        }
    }
}
