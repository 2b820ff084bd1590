//! `lyceum-workshop held-out`: a benchmark suite for the seedling.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;
use lyceum_core::benchmark::{PromptStyle, reader, suite};
use lyceum_core::seed;
use lyceum_core::verify::ProblemKind;
use lyceum_core::work::Prompt;
use lyceum_curriculum::{Corpus, CorpusSpec, Executed, Level};
use lyceum_verifier::Verifier;
use lyceum_worker::lines::write_lines;
use lyceum_worker::pool::PoolArgs;
use lyceum_worker::progress::progress_bar;
use rand::Rng as _;
use serde::Deserialize;
use serde_json::{Value, json};

/// The config of the model shipped with Lyceum.
const SHIPPED: &str = include_str!("../../../configs/models/seedling-pretrain.toml");

/// A prompt of this many bytes leaves room for an answer in the seedling's 512 tokens, since every token has at least
/// one byte.
const PROMPT_BYTES: usize = 400;

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
    /// The config that the seedling was made from [default: that of models/seedling].
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    #[command(flatten)]
    pool: PoolArgs,
}

/// The parts of a pretraining config that determine which programs are held out and how they are posed.
#[derive(Deserialize)]
struct Described {
    seed: u64,
    corpus: CorpusSpec,
    samples: Samples,
}

#[derive(Deserialize)]
struct Samples {
    num_inputs: usize,
}

impl HeldOut {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        ensure!(
            self.problems.is_multiple_of(5),
            "--problems {} is not a multiple of 5; the levels get equal shares",
            self.problems
        );
        let text = match &self.config {
            Some(path) => std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
            None => SHIPPED.to_owned(),
        };
        let described: Described = toml::from_str(&text).context("the config of pretraining")?;
        let verifier = Verifier::start(&self.pool.config())?;
        let share = self.problems as usize / Level::ALL.len();
        let programs = held_out(&described.corpus, share, &verifier);
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
fn held_out(corpus: &CorpusSpec, share: usize, verifier: &Verifier) -> Vec<Executed> {
    // One program in this many is held out; take half as many again, since some are too long to be posed.
    let wanted = share * corpus.hold_out_one_in as usize * 3 / 2;
    let spec = CorpusSpec {
        programs: corpus.programs.map(|all| all.min(wanted)),
        ..corpus.clone()
    };
    let bar = progress_bar(spec.programs.iter().sum::<usize>() as u64, "programs");
    let corpus = Corpus::generate(&spec, verifier, &mut |kept| bar.set_position(kept as u64));
    bar.finish_and_clear();
    corpus.held_out
}

fn rows(described: &Described, programs: &[Executed], share: usize) -> anyhow::Result<Vec<Value>> {
    let style = PromptStyle::shipped("seedling")?;
    let mut rows = Vec::new();
    for problem in [ProblemKind::CodeO, ProblemKind::CodeI, ProblemKind::CodeF] {
        for level in Level::ALL {
            let mut taken = 0;
            for executed in programs.iter().filter(|executed| executed.level == level) {
                let row = row(described, problem, executed, rows.len());
                if taken < share && fits(&style, &row)? {
                    rows.push(row);
                    taken += 1;
                }
            }
            ensure!(
                taken == share,
                "only {taken} problems of type {} and level {level} were found in the corpus: ask for fewer than {share}",
                problem.name()
            );
        }
    }
    Ok(rows)
}

/// A held-out program as a problem: about one of its pairs, or as many as a proposal lists.
fn row(described: &Described, problem: ProblemKind, executed: &Executed, number: usize) -> Value {
    let mut rng = seed::stream(described.seed, &executed.source, 1);
    let start = rng.random_range(0..executed.pairs.len().max(1));
    let mut pairs = executed.pairs.iter().cycle().skip(start).cloned();
    let mut row = json!({
        "task_id": format!("seedling/{number}"),
        "type": problem.name(),
        "level": executed.level.number(),
        "program": executed.source,
    });
    if problem == ProblemKind::CodeF {
        row["message"] = json!(lyceum_curriculum::message::message(&executed.source));
        row["pairs"] = json!(pairs.take(described.samples.num_inputs).collect::<Vec<_>>());
    } else if let Some((input, output)) = pairs.next() {
        row["input"] = json!(input);
        row["output"] = json!(output);
    }
    row
}

fn fits(style: &PromptStyle, row: &Value) -> anyhow::Result<bool> {
    let read = reader::read(
        suite("held-out-seedling")?,
        row.to_string().as_bytes(),
        &reader::Window::default(),
    );
    // For example a program whose message cannot be shown.
    let Ok(read) = read else { return Ok(false) };
    let prompts = read.rows.iter().map(|row| style.render(row));
    let prompts = prompts.collect::<Result<Vec<_>, _>>()?;
    Ok(prompts
        .iter()
        .all(|prompt| matches!(prompt, Prompt::Text(text) if text.len() <= PROMPT_BYTES)))
}
