//! The training loop, its checkpoints and its log.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use lyceum_core::artifact::Digest;
use lyceum_core::work::Dtype;
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{Model, ModelConfig, Placement};
use lyceum_worker::progress::progress_bar;
use lyceum_workshop::pretrain::{Pretrainer, Schedule, write_model_folder};
use serde::{Deserialize, Serialize};

use super::Pretrain;
use super::rows::{Passes, Rows};

/// Batches prepared ahead while a step is computed.
const AHEAD: usize = 2;
/// Number of checkpoints kept.
const KEPT: usize = 2;

/// The inputs that determine the weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Fixed {
    /// SHA-256 of the file of rows.
    pub(super) rows: String,
    /// SHA-256 of the starting weights; of `config.json` if they are random.
    pub(super) from: String,
    pub(super) random: bool,
    pub(super) seed: u64,
    pub(super) steps: u64,
    pub(super) sequences: u32,
    pub(super) tokens: u32,
    pub(super) schedule: Schedule,
    pub(super) weight_decay: f64,
    pub(super) max_grad_norm: f64,
    pub(super) dtype: Dtype,
    pub(super) threads: u32,
}

/// Progress so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Totals {
    steps: u64,
    /// Rows drawn, in all passes.
    rows: u64,
    /// Tokens that passed through the layers, without padding.
    tokens: u64,
    /// Wall-clock time of training.
    seconds: f64,
    /// Mean loss of the last steps.
    loss: f64,
}

/// `state.json` in a checkpoint, `training.json` in the model folder.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    totals: Totals,
    options: Fixed,
}

/// A line of the log.
#[derive(Serialize)]
struct Line {
    step: u64,
    loss: f64,
    gradient_norm: f64,
    learning_rate: f64,
    tokens: usize,
    seconds: f64,
}

/// A training run.
pub(super) struct Training<'a> {
    options: &'a Pretrain,
    fixed: Fixed,
    rows: Rows,
    model: ModelConfig,
    placement: Placement,
    trainer: Pretrainer,
    totals: Totals,
}

impl<'a> Training<'a> {
    /// Starts, or continues from the last checkpoint; refuses to start where another run left checkpoints.
    pub(super) fn begin(options: &'a Pretrain) -> anyhow::Result<Self> {
        let from = &options.from;
        let model = ModelConfig::from_folder(from)?;
        let tokenizer = Tokenizer::load(from, &model)?;
        let longest = i64::from(options.tokens).min(model.max_position_embeddings) as usize;
        let rows = Rows::read(&options.rows, &tokenizer, &model, longest)?;
        let decisive = from.join(if options.random { "config.json" } else { "model.safetensors" });
        let fixed = options.fixed(&rows, digest(&decisive)?);
        let placement = Placement::new(&options.device, options.dtype)?;
        let found = checkpoints(&options.work)?.pop();
        let (trainer, totals) = match found {
            Some((step, _)) if !options.resume => bail!(
                "{} holds a checkpoint of step {step}; continue it with --resume, or use another --work",
                options.work.display()
            ),
            None if options.resume => bail!("{} holds no checkpoint to continue from", options.work.display()),
            Some((_, folder)) => {
                let path = folder.join("state.json");
                let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
                let stored: Stored = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
                ensure!(
                    stored.options == fixed,
                    "{} was written with other options, rows or starting weights: {}",
                    folder.display(),
                    serde_json::to_string(&stored.options)?
                );
                (Pretrainer::resume(model.clone(), placement, &folder)?, stored.totals)
            }
            None if options.random => {
                (Pretrainer::new(model.clone(), placement, options.seed as i64)?, Totals::default())
            }
            None => (Pretrainer::from_model(&Model::load(from, placement)?, placement)?, Totals::default()),
        };
        Ok(Self { options, fixed, rows, model, placement, trainer, totals })
    }

    /// Trains to the last step.
    pub(super) fn run(&mut self) -> anyhow::Result<()> {
        let Self { options, fixed, rows, model, placement, trainer, totals } = self;
        let (first, last) = (totals.steps, fixed.steps);
        eprintln!("{} parameters, {} rows, steps {first} to {last}", trainer.parameters(), rows.len());
        fs::create_dir_all(&options.work).with_context(|| options.work.display().to_string())?;
        let path = options.work.join("log.jsonl");
        let mut log =
            OpenOptions::new().create(true).append(true).open(&path).with_context(|| path.display().to_string())?;
        let bar = progress_bar(last, "steps");
        bar.set_position(first);
        bar.reset_eta();
        let mut passes = Passes::new(rows, fixed.seed, totals.rows);
        let (sequences, tokens) = (fixed.sequences as usize, fixed.tokens as usize);
        let (model, placement) = (&*model, *placement);
        std::thread::scope(|scope| -> anyhow::Result<()> {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || {
                for _ in first..last {
                    let (packer, drawn) = passes.pack(sequences, tokens);
                    // The loop may have ended early.
                    if sender.send((packer.finish(model, placement), drawn)).is_err() {
                        break;
                    }
                }
            });
            for step in first..last {
                let since = Instant::now();
                let (batch, drawn) = receiver.recv().context("the thread that prepares batches ended")?;
                let batch = batch?;
                let optimizer = fixed.optimizer(step);
                let report = trainer.step(&batch, &optimizer, fixed.max_grad_norm)?;
                let seconds = since.elapsed().as_secs_f64();
                let loss = if step == 0 { report.loss } else { 0.98 * totals.loss + 0.02 * report.loss };
                *totals = Totals {
                    steps: step + 1,
                    rows: drawn,
                    tokens: totals.tokens + batch.tokens as u64,
                    seconds: totals.seconds + seconds,
                    loss,
                };
                let line = Line {
                    step,
                    loss: report.loss,
                    gradient_norm: report.gradient_norm,
                    learning_rate: optimizer.learning_rate,
                    tokens: batch.tokens,
                    seconds,
                };
                serde_json::to_writer(&mut log, &line)?;
                log.write_all(b"\n")?;
                bar.set_position(step + 1);
                bar.set_message(format!("loss {loss:.3}, {:.0} tokens/s", batch.tokens as f64 / seconds));
                if (step + 1).is_multiple_of(options.checkpoint_every) || step + 1 == last {
                    save(trainer, &Stored { totals: totals.clone(), options: fixed.clone() }, &options.work)?;
                }
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        Ok(())
    }

    /// Writes the model as a folder.
    pub(super) fn write(&self, out: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(out).with_context(|| out.display().to_string())?;
        for entry in fs::read_dir(&self.options.from).with_context(|| self.options.from.display().to_string())? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_text = ["config.json", "generation_config.json", "chat_template.jinja"].contains(&name)
                || name.starts_with("tokenizer")
                || name.starts_with("special_tokens");
            if is_text && path.is_file() {
                fs::copy(&path, out.join(name)).with_context(|| path.display().to_string())?;
            }
        }
        write_model_folder(self.trainer.model(), Dtype::Bf16, out)?;
        write_json(&out.join("training.json"), &Stored { totals: self.totals.clone(), options: self.fixed.clone() })
    }
}

fn digest(path: &Path) -> anyhow::Result<String> {
    Ok(Digest::of(&fs::read(path).with_context(|| path.display().to_string())?).to_string())
}

fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    fs::write(path, serde_json::to_string_pretty(value)? + "\n").with_context(|| path.display().to_string())
}

fn save(trainer: &Pretrainer, stored: &Stored, work: &Path) -> anyhow::Result<()> {
    let folder = work.join("checkpoints").join(format!("{:08}", stored.totals.steps));
    // Written under a temporary name, so that a checkpoint is always complete.
    let partial = folder.with_extension("partial");
    for stale in [&partial, &folder] {
        if stale.exists() {
            fs::remove_dir_all(stale).with_context(|| stale.display().to_string())?;
        }
    }
    trainer.save(&partial)?;
    write_json(&partial.join("state.json"), stored)?;
    fs::rename(&partial, &folder).with_context(|| folder.display().to_string())?;
    let mut all = checkpoints(work)?;
    all.truncate(all.len().saturating_sub(KEPT));
    for (_, old) in all {
        fs::remove_dir_all(&old).with_context(|| old.display().to_string())?;
    }
    Ok(())
}

/// The complete checkpoints of a run, oldest first.
fn checkpoints(work: &Path) -> anyhow::Result<Vec<(u64, PathBuf)>> {
    let folder = work.join("checkpoints");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if let Some(step) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok()) {
            found.push((step, path));
        }
    }
    found.sort();
    Ok(found)
}
