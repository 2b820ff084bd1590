//! `pretrain`: makes a small base model from scratch.

mod arithmetic;
mod card;
mod config;
mod curriculum;
mod evaluation;
mod figures;
mod origin;
mod problem;
mod programs;
mod training;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use arithmetic::Arithmetic;
use clap::Args;
use config::PretrainConfig;
use curriculum::{Curriculum, Lessons, Name};
use evaluation::Evaluator;
use lyceum_verifier::Verifier;
use lyceum_worker::pool::PoolArgs;
use programs::{ProgramLessons, Programs};
use training::Training;

/// Makes a small base model from scratch: generated problems with their true answers, a tokenizer, training, evaluation, a
/// model card.
///
/// The config determines the weights completely, with --from together with the model it names. Its field `curriculum`
/// says what the model is taught: `programs` (models/seedling; the default) or `arithmetic` (models/seedling-math).
/// --work holds checkpoints (and a corpus of programs), so a run that was killed can continue with --resume and ends with
/// the same weights; --out becomes a Hugging Face folder. During training, WORK/model holds the latest checkpoint as such
/// a folder, and `--evaluate WORK/model` measures it.
///
///   lyceum-workshop pretrain --config configs/models/seedling-1-pretrain.toml --out DIR
///   lyceum-workshop pretrain --config configs/models/seedling-1-pretrain.toml --out DIR --resume
///   lyceum-workshop pretrain --config configs/models/seedling-pretrain.toml --evaluate models/seedling
///   lyceum-workshop pretrain --config FILE --from models/seedling --out DIR --work DIR
///
///   lyceum-workshop pretrain --config configs/models/seedling-gasp-pretrain.toml --from models/seedling --work DIR
///
///   lyceum-workshop pretrain --config configs/models/seedling-math-pretrain.toml --work DIR
///   lyceum-workshop pretrain --config configs/models/seedling-math-pretrain.toml --work DIR --evaluate DIR/model \
///       --held-out 60 --answers 8                    # held-out questions only, while it trains
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Pretrain {
    /// TOML file that determines the weights.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Model folder to write [default: models/seedling; models/seedling-gasp with stepping stones; models/seedling-math
    /// for arithmetic].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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
    /// Compare answers with and without steps on programs for development, N of each level, and write `ways.json`. The
    /// results for arithmetic always tell them apart.
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
        match config::curriculum(&self.config)? {
            Name::Programs => self.programs(),
            Name::Arithmetic => self.arithmetic(),
        }
    }

    fn programs(self) -> anyhow::Result<()> {
        let mut config: PretrainConfig<Programs> = PretrainConfig::read(&self.config)?;
        self.prepare(config.compute.threads)?;
        let verifier = Verifier::start(&self.pool.config())?;
        let corpus = curriculum::load_or_generate(&config.corpus, &self.work, &verifier)?;
        if let (Some(folder), Some(problems)) = (&self.evaluate, self.held_out) {
            config.evaluation.held_out = problems;
            let bands = Evaluator::new(&config, &corpus, &verifier, folder)?.held_out_bands(self.answers)?;
            return write_json(&folder.join("held_out.json"), &bands);
        }
        if let (Some(folder), Some(problems)) = (&self.evaluate, self.ways) {
            let ways = Evaluator::new(&config, &corpus, &verifier, folder)?.ways(problems, self.answers)?;
            return write_json(&folder.join("ways.json"), &ways);
        }
        let evaluate = |folder: &Path| {
            let evaluation = Evaluator::new(&config, &corpus, &verifier, folder)?.run()?;
            write_json(&folder.join("evaluation.json"), &evaluation)?;
            card::write(&config, &corpus, &evaluation, folder)
        };
        match &self.evaluate {
            Some(folder) => evaluate(folder),
            None => {
                let lessons = ProgramLessons::new(&config.samples, &corpus);
                let shipped = match config.samples.stones {
                    Some(_) => "models/seedling-gasp",
                    None => "models/seedling",
                };
                self.train(&config, &lessons, shipped, evaluate)
            }
        }
    }

    fn arithmetic(self) -> anyhow::Result<()> {
        let mut config: PretrainConfig<Arithmetic> = PretrainConfig::read(&self.config)?;
        ensure!(self.ways.is_none(), "--ways is for programs: use --held-out N --answers K");
        self.prepare(config.compute.threads)?;
        if let (Some(folder), Some(problems)) = (&self.evaluate, self.held_out) {
            config.evaluation.held_out = problems;
            config.evaluation.samples = self.answers;
            let bands = arithmetic::Evaluator::new(&config, folder)?.held_out()?;
            return write_json(&folder.join("held_out.json"), &bands);
        }
        let evaluate = |folder: &Path| {
            let evaluation = arithmetic::Evaluator::new(&config, folder)?.run(folder)?;
            write_json(&folder.join("evaluation.json"), &evaluation)?;
            arithmetic::write_card(&config, &evaluation, folder)
        };
        match &self.evaluate {
            Some(folder) => evaluate(folder),
            None => {
                let lessons = arithmetic::lessons(&config)?;
                self.train(&config, &lessons, "models/seedling-math", evaluate)
            }
        }
    }

    fn prepare(&self, threads: u32) -> anyhow::Result<()> {
        lyceum_engine::device::set_threads(Some(threads));
        std::fs::create_dir_all(&self.work).with_context(|| self.work.display().to_string())
    }

    /// Trains to the end, or until --stop-after; at the end it writes and evaluates the model.
    fn train<C: Curriculum>(
        &self,
        config: &PretrainConfig<C>,
        lessons: &dyn Lessons<C>,
        shipped: &str,
        evaluate: impl Fn(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut training = match self.resume {
            true => Training::resume(config, lessons, &self.work)?,
            false => Training::begin(config, lessons, &self.work, self.from.as_deref())?,
        };
        let last = self.stop_after.unwrap_or(u64::MAX).min(config.steps());
        training.run_until(last)?;
        if last < config.steps() {
            return Ok(());
        }
        let out = self.out.as_deref().unwrap_or(Path::new(shipped));
        training.write(out)?;
        evaluate(out)
    }
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    std::fs::write(path, text).with_context(|| path.display().to_string())
}
