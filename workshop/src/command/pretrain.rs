//! `pretrain`: makes the seedling from scratch.

mod batches;
mod card;
mod config;
mod corpus;
mod evaluation;
mod figures;
mod guess;
mod origin;
mod problem;
mod tally;
mod training;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use config::PretrainConfig;
use evaluation::Evaluator;
use lyceum_verifier::Verifier;
use lyceum_worker::pool::PoolArgs;
use training::Training;

/// Makes a small base model from scratch: random programs, their true outputs, a tokenizer, training, evaluation, a
/// model card.
///
/// The config determines the weights completely, with --from together with the model it names. --work holds the corpus and checkpoints, so a run that was killed can
/// continue with --resume and ends with the same weights; --out becomes a Hugging Face folder. During training,
/// WORK/model holds the latest checkpoint as such a folder, and `--evaluate WORK/model` measures it.
///
///   lyceum-workshop pretrain --config configs/models/seedling-pretrain.toml
///   lyceum-workshop pretrain --config configs/models/seedling-pretrain.toml --resume
///   lyceum-workshop pretrain --config configs/models/seedling-pretrain.toml --evaluate models/seedling
///   lyceum-workshop pretrain --config FILE --from models/seedling --out DIR --work DIR
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Pretrain {
    /// TOML file that determines the weights.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Model folder to write.
    #[arg(long, value_name = "DIR", default_value = "models/seedling")]
    out: PathBuf,
    /// Folder for the corpus, checkpoints and the log.
    #[arg(long, value_name = "DIR", default_value = ".lyceum/pretrain")]
    work: PathBuf,
    /// Continue from the last checkpoint in --work.
    #[arg(long)]
    resume: bool,
    /// Start with the weights of this model folder instead of random ones; `training.json` names it.
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["resume", "evaluate"])]
    from: Option<PathBuf>,
    /// Stop after this step with a checkpoint; nothing is written to --out.
    #[arg(long, value_name = "STEP")]
    stop_after: Option<u64>,
    /// Only evaluate the model in this folder, and write `evaluation.json` and `README.md` into it.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["resume", "stop_after", "out"])]
    evaluate: Option<PathBuf>,
    /// Evaluate only held-out problems, N of each level, and write `held_out.json`.
    #[arg(long, value_name = "N", requires = "evaluate")]
    held_out: Option<usize>,
    /// Compare answers with and without steps on problems for development, N of each level, and write `ways.json`.
    #[arg(long, value_name = "N", requires = "evaluate", conflicts_with = "held_out")]
    ways: Option<usize>,
    /// Answers to each problem, with --held-out or --ways.
    #[arg(long, value_name = "K", requires = "evaluate", default_value_t = 1)]
    answers: usize,
    #[command(flatten)]
    pool: PoolArgs,
}

impl Pretrain {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let mut config = PretrainConfig::read(&self.config)?;
        lyceum_engine::device::set_threads(Some(config.compute.threads));
        std::fs::create_dir_all(&self.work).with_context(|| self.work.display().to_string())?;
        let verifier = Verifier::start(&self.pool.config())?;
        let corpus = corpus::load_or_generate(&config.corpus, &self.work, &verifier)?;
        if let (Some(folder), Some(problems)) = (&self.evaluate, self.held_out) {
            config.evaluation.held_out = problems;
            let bands = Evaluator::new(&config, &corpus, &verifier, folder)?.held_out_bands(self.answers)?;
            return write_json(&folder.join("held_out.json"), &bands);
        }
        if let (Some(folder), Some(problems)) = (&self.evaluate, self.ways) {
            let ways = Evaluator::new(&config, &corpus, &verifier, folder)?.ways(problems, self.answers)?;
            return write_json(&folder.join("ways.json"), &ways);
        }
        if let Some(folder) = &self.evaluate {
            return evaluate(&config, &corpus, &verifier, folder);
        }
        let mut training = if self.resume {
            Training::resume(&config, &corpus, &self.work)?
        } else {
            Training::begin(&config, &corpus, &self.work, self.from.as_deref())?
        };
        let last = self.stop_after.unwrap_or(u64::MAX).min(config.steps());
        training.run_until(last)?;
        if last < config.steps() {
            return Ok(());
        }
        training.write(&self.out)?;
        evaluate(&config, &corpus, &verifier, &self.out)
    }
}

fn evaluate(
    config: &PretrainConfig,
    corpus: &lyceum_curriculum::Corpus,
    verifier: &Verifier,
    folder: &Path,
) -> anyhow::Result<()> {
    let evaluation = Evaluator::new(config, corpus, verifier, folder)?.run()?;
    write_json(&folder.join("evaluation.json"), &evaluation)?;
    card::write(config, corpus, &evaluation, folder)
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
