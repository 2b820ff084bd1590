//! `pretrain`: trains all parameters of a small base on rows.

mod rows;
mod training;

use std::path::PathBuf;

use clap::Args;
use lyceum_core::work::Dtype;
use lyceum_engine::learn::AdamW;
use lyceum_workshop::pretrain::Schedule;
use training::{Fixed, Training};

/// Train all parameters of a small base on rows of prompts and answers
///
/// A row is a line of JSON: {"prompt": "2+3=", "answer": "5", "weight": 1.0}. The prompt is the
/// text that the model sees and is not learned; the answer is learned up to and including the
/// end-of-text token. `weight` multiplies the loss of the answer's tokens (default 1).
///
/// --from names a model folder with the architecture and the tokenizer. Training starts from its
/// weights, or with --random from random ones. The options, the rows and that folder determine
/// the weights.
///
///   lyceum-workshop pretrain --rows rows.jsonl --from models/seedling --random --out my-base
///
/// --work holds checkpoints and a log. A run that was killed continues with the same options and
/// --resume, and ends with the same weights. --out becomes a Hugging Face folder with bf16
/// weights and `training.json`.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Pretrain {
    /// File of rows.
    #[arg(long, value_name = "FILE.jsonl")]
    rows: PathBuf,
    #[arg(long = "config", hide = true, value_parser = removed)]
    _config: Option<()>,
    /// Model folder to start from.
    #[arg(long, value_name = "DIR")]
    from: PathBuf,
    /// Start from random weights; --from then gives only architecture and tokenizer.
    #[arg(long)]
    random: bool,
    /// Model folder to write.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Folder for checkpoints and the log.
    #[arg(long, value_name = "DIR", default_value = ".lyceum/pretrain")]
    work: PathBuf,
    /// Continue from the last checkpoint in --work.
    #[arg(long)]
    resume: bool,
    /// Optimizer steps.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Sequences per step. Rows are packed into them and do not see one another.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4_096))]
    sequences: u32,
    /// Tokens per sequence; the longest row must fit.
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(2..))]
    tokens: u32,
    /// Step size between warm-up and decay.
    #[arg(long, default_value_t = 1e-3)]
    learning_rate: f64,
    /// Steps over which the step size rises from zero.
    #[arg(long, default_value_t = 50)]
    warmup_steps: u64,
    /// Steps at the end over which the step size falls to zero.
    #[arg(long, default_value_t = 200)]
    decay_steps: u64,
    /// AdamW's weight decay.
    #[arg(long, default_value_t = 0.05)]
    weight_decay: f64,
    /// Maximum norm of the gradient; 0 sets no limit.
    #[arg(long, default_value_t = 1.0)]
    max_grad_norm: f64,
    /// Seed of random weights and of the order of the rows.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Steps between checkpoints.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_every: u64,
    /// Device: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto")]
    device: String,
    /// Precision of the products: fp32 or bf16. Trained weights are fp32.
    #[arg(long, default_value = "fp32")]
    dtype: Dtype,
    /// Threads of libtorch; the number of threads changes the rounding of sums.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
}

fn removed(_: &str) -> Result<(), &'static str> {
    Err("configs of corpora were removed: train on rows with --rows; docs/SEEDLING.md names the commit that has them")
}

impl Pretrain {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        lyceum_engine::device::set_threads(Some(self.threads));
        let mut training = Training::begin(&self)?;
        training.run()?;
        training.write(&self.out)
    }

    /// The options that the weights depend on.
    fn fixed(&self, rows: &rows::Rows, from: String) -> Fixed {
        Fixed {
            rows: rows.digest.clone(),
            from,
            random: self.random,
            seed: self.seed,
            steps: self.steps,
            sequences: self.sequences,
            tokens: self.tokens,
            schedule: Schedule {
                learning_rate: self.learning_rate,
                warmup_steps: self.warmup_steps,
                decay_steps: self.decay_steps,
            },
            weight_decay: self.weight_decay,
            max_grad_norm: self.max_grad_norm,
            dtype: self.dtype,
            threads: self.threads,
        }
    }
}

impl Fixed {
    fn optimizer(&self, step: u64) -> AdamW {
        let learning_rate = self.schedule.at(step, self.steps);
        AdamW { learning_rate, beta1: 0.9, beta2: 0.95, eps: 1e-8, weight_decay: self.weight_decay }
    }
}
