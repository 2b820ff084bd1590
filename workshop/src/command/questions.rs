//! `lyceum-workshop questions`: arithmetic questions for the small base for mathematics.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum};
use lyceum_core::benchmark::{reader, suite};
use lyceum_core::dataset::fingerprints;
use lyceum_core::seed;
use lyceum_curriculum::Level;
use lyceum_curriculum::arithmetic::{Exercise, Source};
use lyceum_worker::lines::write_lines;
use serde::Deserialize;
use serde_json::{Value, json};

use super::training::{check_importable, equal_share, level};

const SHIPPED: &str = include_str!("../../../configs/models/seedling-math-pretrain.toml");

/// A level of which this many drawn questions in a row are known already has no more.
const REPEATS: usize = 2_000;

/// Write arithmetic questions with their answers, for the base models/seedling-math.
///
/// An expression is either of the training split or held out, in all its wordings, so the suite
/// `held-out-seedling-math` measures what a run learned. Levels take turns: any number of rows
/// from the first has nearly equal shares. The same config, split, number and levels give the
/// same file.
///
///   lyceum-workshop questions training --out questions.jsonl
///   lyceum dataset import questions.jsonl --purpose training --name mine
///   lyceum run create --preset sage-seedling-math --set parameters.dataset.name=mine
///
///   lyceum-workshop questions held-out --out held-out-seedling-math.jsonl
///   lyceum benchmark import held-out-seedling-math held-out-seedling-math.jsonl
///
/// Questions to choose settings on, none of them in the suite above:
///
///   lyceum-workshop questions held-out --skip 60 --out development.jsonl
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Questions {
    /// Which split the expressions are of.
    #[arg(value_enum)]
    split: Split,
    /// Output file.
    #[arg(long, value_name = "FILE.jsonl")]
    out: PathBuf,
    /// Questions; a multiple of the number of levels, which get equal shares.
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=50_000))]
    problems: u32,
    /// Levels of difficulty, from 1 (one operation) to 5 (several steps in words).
    #[arg(long, value_name = "LEVELS", value_delimiter = ',', default_value = "1,2,3,4,5", value_parser = level)]
    levels: Vec<Level>,
    /// Leave out the first questions of each level.
    #[arg(long, value_name = "QUESTIONS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=50_000))]
    skip: u32,
    /// The config that the model was made from [default: that of models/seedling-math].
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
}

/// Which expressions a question may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Split {
    /// Those that the model was trained on.
    Training,
    /// The others.
    HeldOut,
}

impl Questions {
    pub(crate) fn run(mut self) -> anyhow::Result<()> {
        self.levels.sort_unstable();
        self.levels.dedup();
        let share = equal_share(self.problems, &self.levels)?;
        let source = source(self.config.as_deref())?;
        let rows = self.split.rows(&source, &self.levels, share, self.skip as usize)?;
        self.split.check(&rows)?;
        write_lines(&self.out, &rows)?;
        println!("{} questions", rows.len());
        Ok(())
    }
}

impl Split {
    /// The questions of the levels in turn.
    fn rows(self, source: &Source, levels: &[Level], share: usize, skip: usize) -> anyhow::Result<Vec<Value>> {
        let groups = levels.iter().map(|&level| self.drawn(source, level, share, skip));
        let groups: Vec<Vec<Exercise>> = groups.collect::<anyhow::Result<_>>()?;
        let in_turn = (0..share).flat_map(|turn| groups.iter().map(move |group| &group[turn]));
        let rows = in_turn.enumerate().map(|(place, exercise)| self.row(place, exercise));
        Ok(rows.collect())
    }

    /// `share` different questions of a level, after the first `skip`.
    fn drawn(self, source: &Source, level: Level, share: usize, skip: usize) -> anyhow::Result<Vec<Exercise>> {
        let mut rng = seed::stream(source.seed, &format!("questions/{}", self.name()), level.number().into());
        let mut known = HashSet::new();
        let mut found = Vec::new();
        let mut repeats = 0;
        while found.len() < skip + share && repeats < REPEATS {
            let exercise = match self {
                Self::Training => source.training(level, &mut rng),
                Self::HeldOut => source.held_out(level, &mut rng),
            };
            if known.insert(fingerprints(&json!({ "question": exercise.question })).question) {
                found.push(exercise);
                repeats = 0;
            } else {
                repeats += 1;
            }
        }
        ensure!(
            found.len() == skip + share,
            "only {} questions of level {level} were found: ask for fewer than {}",
            found.len(),
            skip + share
        );
        Ok(found.split_off(skip))
    }

    fn row(self, place: usize, exercise: &Exercise) -> Value {
        let (level, question, answer) = (exercise.level.number(), &exercise.question, exercise.answer());
        match self {
            Self::Training => json!({
                "task_id": format!("seedling-math-training/{place}"),
                "question": question,
                "oracle": { "type": "math", "gold": answer },
                "tags": { "level": level.to_string() },
            }),
            Self::HeldOut => json!({
                "task_id": format!("seedling-math/{place}"),
                "level": level,
                "question": question,
                "answer": answer,
            }),
        }
    }

    /// Refuses rows that cannot be imported.
    fn check(self, rows: &[Value]) -> anyhow::Result<()> {
        if self == Self::Training {
            return check_importable(rows);
        }
        let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
        let (suite, window) = (suite("held-out-seedling-math")?, reader::Window::default());
        reader::read(suite, text.as_bytes(), &window)?;
        Ok(())
    }

    fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::HeldOut => "held-out",
        }
    }
}

/// What a config says of the questions.
#[derive(Deserialize)]
struct Described {
    corpus: Source,
}

fn source(config: Option<&Path>) -> anyhow::Result<Source> {
    let text = match config {
        Some(path) => std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
        None => SHIPPED.to_owned(),
    };
    let described: Described = toml::from_str(&text).context("the config of pretraining")?;
    Ok(described.corpus)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use lyceum_core::arithmetic::{Judgement, judge, read_question};

    use super::*;

    const TRAINING: &str = include_str!("../../../configs/datasets/seedling-math-training.jsonl");
    const HELD_OUT: &str = include_str!("../../../configs/datasets/held-out-seedling-math.jsonl");

    fn shipped(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn the_rows_that_ship_are_what_the_command_writes_and_the_oracle_agrees_with_every_answer() {
        let source = source(None).unwrap();
        for (split, text, share, gold, level) in [
            (Split::Training, TRAINING, 100, "/oracle/gold", "/tags/level"),
            (Split::HeldOut, HELD_OUT, 60, "/answer", "/level"),
        ] {
            let rows = shipped(text);
            assert_eq!(split.rows(&source, &Level::ALL, share, 0).unwrap(), rows);
            split.check(&rows).unwrap();
            for row in &rows {
                let question = row["question"].as_str().unwrap();
                let answer = row.pointer(gold).unwrap().as_str().unwrap();
                assert_eq!(judge(question, answer), Judgement::Right, "{row}");
                let held_out = source.holds_out(&read_question(question).unwrap());
                assert_eq!(held_out, split == Split::HeldOut, "{row}");
            }
            for turn in rows.chunks(5) {
                let levels: BTreeSet<String> = turn.iter().map(|row| row.pointer(level).unwrap().to_string()).collect();
                assert_eq!(levels.len(), 5, "levels take turns");
            }
        }
    }

    #[test]
    fn questions_after_those_of_the_suite_are_others() {
        let source = source(None).unwrap();
        let later = Split::HeldOut.rows(&source, &Level::ALL, 60, 60).unwrap();
        let suite: HashSet<_> = shipped(HELD_OUT).iter().map(|row| fingerprints(row).question).collect();
        assert!(later.iter().all(|row| !suite.contains(&fingerprints(row).question)));
    }
}
