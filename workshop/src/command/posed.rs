//! Programs of the seedling's corpus, posed as problems.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;
use lyceum_core::benchmark::{PromptStyle, reader, suite};
use lyceum_core::seed;
use lyceum_core::verify::ProblemKind;
use lyceum_core::work::Prompt;
use lyceum_curriculum::{Corpus, CorpusSpec, Executed, Level};
use lyceum_verifier::Verifier;
use lyceum_worker::progress::progress_bar;
use rand::Rng as _;
use serde::Deserialize;
use serde_json::{Value, json};

/// The config of the model shipped with Lyceum.
const SHIPPED: &str = include_str!("../../../configs/models/seedling-pretrain.toml");

/// Draws which of its pairs a program is posed with. Shipped rows follow from it, and not from the seed of a training, so
/// that they outlive the weights.
const PAIRS: u64 = 22;

/// A prompt of this many bytes leaves room for an answer of 144 tokens in the seedling's 512, since every token has at
/// least one byte.
const PROMPT_BYTES: usize = 368;

/// Where the programs come from.
#[derive(Debug, Default, Args)]
pub(super) struct Source {
    /// The config that the seedling was made from [default: that of models/seedling].
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
}

/// The parts of a pretraining config that determine the programs and how they are posed.
#[derive(Deserialize)]
pub(super) struct Described {
    pub(super) corpus: CorpusSpec,
    samples: Samples,
}

#[derive(Deserialize)]
struct Samples {
    num_inputs: usize,
}

impl Source {
    pub(super) fn read(&self) -> anyhow::Result<Described> {
        let text = match &self.config {
            Some(path) => std::fs::read_to_string(path).with_context(|| path.display().to_string())?,
            None => SHIPPED.to_owned(),
        };
        toml::from_str(&text).context("the config of pretraining")
    }
}

/// The part of the described corpus with at most `wanted` training programs of each of `levels`.
pub(super) fn part(described: &Described, levels: &[Level], wanted: usize, verifier: &Verifier) -> Corpus {
    let mut spec = CorpusSpec { traces: false, ..described.corpus.clone() };
    for (level, all) in Level::ALL.iter().zip(&mut spec.programs) {
        *all = if levels.contains(level) { wanted.min(*all) } else { 0 };
    }
    let bar = progress_bar(spec.programs.iter().sum::<usize>() as u64, "programs");
    let corpus = Corpus::generate(&spec, verifier, &mut |kept| bar.set_position(kept as u64));
    bar.finish_and_clear();
    corpus
}

/// Which problems are made.
pub(super) struct Posing<'a> {
    pub(super) described: &'a Described,
    pub(super) kinds: &'a [ProblemKind],
    pub(super) levels: &'a [Level],
    /// Problems of each type and level.
    pub(super) share: usize,
}

impl Posing<'_> {
    /// A group for each type and level in turn: `share` problems about the first programs that can be posed.
    fn groups(&self, programs: &[Executed]) -> anyhow::Result<Vec<Vec<Value>>> {
        let style = PromptStyle::shipped("seedling")?;
        let mut groups = Vec::new();
        for &kind in self.kinds {
            for &level in self.levels {
                let mut group = Vec::new();
                for executed in programs.iter().filter(|executed| executed.level == level) {
                    let row = self.row(kind, executed);
                    if group.len() < self.share && fits(&style, &row)? {
                        group.push(row);
                    }
                }
                ensure!(
                    group.len() == self.share,
                    "only {} problems of type {} and level {level} were found in the corpus: ask for fewer than {}",
                    group.len(),
                    kind.name(),
                    self.share
                );
                groups.push(group);
            }
        }
        Ok(groups)
    }

    /// Each of `programs` that can be posed as a problem of each kind, in order.
    pub(super) fn each<'p>(&self, programs: impl Iterator<Item = &'p Executed>) -> anyhow::Result<Vec<Value>> {
        let style = PromptStyle::shipped("seedling")?;
        let rows = programs.flat_map(|executed| self.kinds.iter().map(|&kind| self.row(kind, executed)));
        rows.filter_map(|row| fits(&style, &row).map(|fits| fits.then_some(row)).transpose()).collect()
    }

    /// The groups' problems in turn, so that any number of them from the first has nearly equal shares.
    pub(super) fn in_turn(&self, programs: &[Executed]) -> anyhow::Result<Vec<Value>> {
        let groups = self.groups(programs)?;
        let turns = (0..self.share).flat_map(|turn| groups.iter().map(move |group| group[turn].clone()));
        Ok(turns.collect())
    }

    /// A program as a problem: about one of its pairs, or as many as a proposal lists.
    fn row(&self, kind: ProblemKind, executed: &Executed) -> Value {
        let mut rng = seed::stream(PAIRS, &executed.source, 1);
        let start = rng.random_range(0..executed.pairs.len().max(1));
        let mut pairs = executed.pairs.iter().cycle().skip(start).cloned();
        let mut row = json!({
            "task_id": "unnamed",
            "type": kind.name(),
            "level": executed.level.number(),
            "program": executed.source,
        });
        if kind == ProblemKind::CodeF {
            row["message"] = json!(lyceum_curriculum::message::message(&executed.source));
            row["pairs"] = json!(pairs.take(self.described.samples.num_inputs).collect::<Vec<_>>());
        } else if let Some((input, output)) = pairs.next() {
            row["input"] = json!(input);
            row["output"] = json!(output);
        }
        row
    }
}

/// The rows with their tasks named by their place.
pub(super) fn named(prefix: &str, mut rows: Vec<Value>) -> Vec<Value> {
    for (place, row) in rows.iter_mut().enumerate() {
        row["task_id"] = json!(format!("{prefix}/{place}"));
    }
    rows
}

fn fits(style: &PromptStyle, row: &Value) -> anyhow::Result<bool> {
    let read = reader::read(suite("held-out-seedling")?, row.to_string().as_bytes(), &reader::Window::default());
    // For example a program whose message cannot be shown.
    let Ok(read) = read else { return Ok(false) };
    let prompts = read.rows.iter().map(|row| style.render(row)).collect::<Result<Vec<_>, _>>()?;
    Ok(prompts.iter().all(|prompt| matches!(prompt, Prompt::Text(text) if text.len() <= PROMPT_BYTES)))
}
