//! The training loop, its checkpoints and its log.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use lyceum_core::work::Dtype;
use lyceum_curriculum::tokenizer::{EOS, PAD, tokenizer_config_json};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_engine::{ModelConfig, Placement};
use lyceum_worker::progress::progress_bar;
use lyceum_workshop::pretrain::{Pretrainer, write_model_folder};
use serde::{Deserialize, Serialize};

use super::config::{Architecture, PretrainConfig};
use super::curriculum::{Batches, Curriculum, Lessons};
use super::origin::{self, Origin};

/// Batches prepared ahead while a step is computed.
const AHEAD: usize = 2;
/// Number of checkpoints kept.
const KEPT: usize = 2;

/// A training run.
pub(super) struct Training<'a, C: Curriculum> {
    config: &'a PretrainConfig<C>,
    lessons: &'a dyn Lessons<C>,
    work: PathBuf,
    tokenizer: Tokenizer,
    model: ModelConfig,
    placement: Placement,
    trainer: Pretrainer,
    totals: Totals,
}

/// The start and the cost of training so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Totals {
    /// The model whose weights training started from; random weights if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) from: Option<Origin>,
    /// The config's file as it was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<String>,
    pub(super) steps: u64,
    /// Tokens that passed through the layers, without padding.
    pub(super) tokens: u64,
    /// Wall-clock time of training, excluding generation of the corpus and evaluation.
    pub(super) seconds: f64,
    /// Mean loss of the last steps.
    pub(super) loss: f64,
}

impl Totals {
    /// The contents of `training.json` in a model folder; `None` if there is no such file.
    pub(super) fn of(folder: &Path) -> anyhow::Result<Option<Self>> {
        let path = folder.join("training.json");
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some(serde_json::from_str(&text).with_context(|| path.display().to_string())?)),
            Err(_) => Ok(None),
        }
    }
}

/// Metadata stored with a checkpoint.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Stored<C: Curriculum> {
    config: Fixed<C>,
    totals: Totals,
}

/// The part of the config that must not change when a run is resumed.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
struct Fixed<C: Curriculum> {
    seed: u64,
    model: Architecture,
    corpus: C::Corpus,
}

impl<C: Curriculum> From<&PretrainConfig<C>> for Fixed<C> {
    fn from(config: &PretrainConfig<C>) -> Self {
        Self { seed: config.seed, model: config.model.clone(), corpus: config.corpus.clone() }
    }
}

/// A line of the log.
#[derive(Serialize)]
struct Line<'a> {
    step: u64,
    phase: &'a str,
    loss: f64,
    gradient_norm: f64,
    learning_rate: f64,
    tokens: usize,
    seconds: f64,
}

impl<'a, C: Curriculum> Training<'a, C> {
    /// Starts with the weights of the model folder `from`, or else with random ones; refuses to begin if another run left
    /// checkpoints.
    pub(super) fn begin(
        config: &'a PretrainConfig<C>,
        lessons: &'a dyn Lessons<C>,
        work: &Path,
        from: Option<&Path>,
    ) -> anyhow::Result<Self> {
        if let Some((step, _)) = checkpoints(work)?.last() {
            bail!(
                "{} holds a checkpoint of step {step}; continue it with --resume, or use another --work",
                work.display()
            );
        }
        let (tokenizer, model, placement) = prepare(config, work)?;
        let (trainer, from) = match from {
            Some(folder) => {
                let start = origin::load(folder, &work.join("model"), placement)?;
                (Pretrainer::from_model(&start, placement)?, Some(origin::describe(folder)?))
            }
            None => (Pretrainer::new(model.clone(), placement, config.seed as i64)?, None),
        };
        Ok(Self {
            config,
            lessons,
            work: work.to_owned(),
            tokenizer,
            model,
            placement,
            trainer,
            totals: Totals { from, config: Some(config.file.clone()), ..Totals::default() },
        })
    }

    /// Continues from the last checkpoint. Phases not reached yet, and the ends of phases, may have changed; everything
    /// else must be the same.
    pub(super) fn resume(
        config: &'a PretrainConfig<C>,
        lessons: &'a dyn Lessons<C>,
        work: &Path,
    ) -> anyhow::Result<Self> {
        let Some((_, folder)) = checkpoints(work)?.pop() else {
            bail!("{} holds no checkpoint to continue from", work.display());
        };
        let (tokenizer, model, placement) = prepare(config, work)?;
        let path = folder.join("state.json");
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let stored: Stored<C> = serde_json::from_str(&text).with_context(|| path.display().to_string())?;
        ensure!(
            stored.config == Fixed::from(config),
            "{} was written with a `seed`, `model` or `corpus` that differs from the config's",
            folder.display()
        );
        let trainer = Pretrainer::resume(model.clone(), placement, &folder)?;
        ensure!(
            trainer.steps() == stored.totals.steps,
            "{}: the optimizer made {} steps, the log {}",
            folder.display(),
            trainer.steps(),
            stored.totals.steps
        );
        Ok(Self { config, lessons, work: work.to_owned(), tokenizer, model, placement, trainer, totals: stored.totals })
    }

    /// Trains until `last` steps are done.
    pub(super) fn run_until(&mut self, last: u64) -> anyhow::Result<()> {
        let Self { config, lessons, work, tokenizer, model, placement, trainer, totals } = self;
        let batches = Batches { config, lessons: *lessons, tokenizer, model, placement: *placement };
        eprintln!("{} parameters, steps {} to {last}", trainer.parameters(), totals.steps);
        let path = work.join("log.jsonl");
        let mut log =
            OpenOptions::new().create(true).append(true).open(&path).with_context(|| path.display().to_string())?;
        let bar = progress_bar(last, "steps");
        bar.set_position(totals.steps);
        bar.reset_eta();
        let first = totals.steps;
        std::thread::scope(|scope| -> anyhow::Result<()> {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || {
                for step in first..last {
                    // The loop may have ended early.
                    if sender.send(batches.batch(step)).is_err() {
                        break;
                    }
                }
            });
            let mut since = Instant::now();
            for step in first..last {
                let batch = receiver.recv().context("the thread that prepares batches ended")??;
                let optimizer = config.optimizer_at(step).context("the step is in no phase")?;
                let report = trainer.step(&batch, &optimizer, config.optimizer.max_grad_norm)?;
                let seconds = since.elapsed().as_secs_f64();
                since = Instant::now();
                totals.steps = step + 1;
                totals.tokens += batch.tokens as u64;
                totals.seconds += seconds;
                totals.loss =
                    if step == first && first == 0 { report.loss } else { 0.98 * totals.loss + 0.02 * report.loss };
                let line = Line {
                    step,
                    phase: config.phase(step).map_or("", |phase| &phase.name),
                    loss: report.loss,
                    gradient_norm: report.gradient_norm,
                    learning_rate: optimizer.learning_rate,
                    tokens: batch.tokens,
                    seconds,
                };
                serde_json::to_writer(&mut log, &line)?;
                log.write_all(b"\n")?;
                bar.set_position(step + 1);
                bar.set_message(format!("loss {:.3}, {:.0} tokens/s", totals.loss, batch.tokens as f64 / seconds));
                if (step + 1).is_multiple_of(config.checkpoint_every) || step + 1 == last {
                    save(trainer, totals, config, work)?;
                }
            }
            Ok(())
        })?;
        bar.finish_and_clear();
        Ok(())
    }

    /// Writes the model as a folder.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        write_folder(&self.trainer, &self.totals, self.config, folder)
    }
}

/// Writes tokenizer and configuration, and reads them back as the engine does.
fn prepare<C: Curriculum>(
    config: &PretrainConfig<C>,
    work: &Path,
) -> anyhow::Result<(Tokenizer, ModelConfig, Placement)> {
    let folder = work.join("model");
    write_texts(config, &folder)?;
    let model = ModelConfig::from_folder(&folder)?;
    let tokenizer = Tokenizer::load(&folder, &model)?;
    let placement = Placement::new(&config.compute.device, config.compute.precision()?)?;
    Ok((tokenizer, model, placement))
}

fn write_texts<C: Curriculum>(config: &PretrainConfig<C>, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let tokenizer = C::tokenizer_json(config);
    let vocabulary = tokenizer["model"]["vocab"].as_array().map_or(0, Vec::len);
    let id_of = |token: &str| -> u32 {
        let at =
            tokenizer["model"]["vocab"].as_array().and_then(|pieces| pieces.iter().position(|piece| piece[0] == token));
        at.unwrap_or(0) as u32
    };
    let (eos, pad) = (id_of(EOS), id_of(PAD));
    // Products are fastest if sizes are multiples of 32.
    let model = config.model_json(vocabulary.next_multiple_of(32), eos, pad);
    let files = [
        ("config.json", model),
        ("generation_config.json", serde_json::json!({"eos_token_id": eos, "pad_token_id": pad})),
        ("tokenizer_config.json", tokenizer_config_json(config.model.max_position_embeddings)),
        ("tokenizer.json", tokenizer),
    ];
    for (name, content) in files {
        let path = folder.join(name);
        let text = serde_json::to_string_pretty(&content)? + "\n";
        std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn write_folder<C: Curriculum>(
    trainer: &Pretrainer,
    totals: &Totals,
    config: &PretrainConfig<C>,
    folder: &Path,
) -> anyhow::Result<()> {
    write_texts(config, folder)?;
    write_model_folder(trainer.model(), Dtype::Bf16, folder)?;
    let path = folder.join("training.json");
    let text = serde_json::to_string_pretty(totals)? + "\n";
    std::fs::write(&path, text).with_context(|| path.display().to_string())
}

fn save<C: Curriculum>(
    trainer: &Pretrainer,
    totals: &Totals,
    config: &PretrainConfig<C>,
    work: &Path,
) -> anyhow::Result<()> {
    let folder = work.join("checkpoints").join(format!("{:08}", totals.steps));
    // Written under a temporary name, so that a checkpoint is always complete.
    let partial = folder.with_extension("partial");
    for stale in [&partial, &folder] {
        if stale.exists() {
            std::fs::remove_dir_all(stale).with_context(|| stale.display().to_string())?;
        }
    }
    trainer.save(&partial)?;
    let stored = Stored { config: Fixed::from(config), totals: totals.clone() };
    let path = partial.join("state.json");
    std::fs::write(&path, serde_json::to_string(&stored)?).with_context(|| path.display().to_string())?;
    std::fs::rename(&partial, &folder).with_context(|| folder.display().to_string())?;
    let mut all = checkpoints(work)?;
    all.truncate(all.len().saturating_sub(KEPT));
    for (_, old) in all {
        std::fs::remove_dir_all(&old).with_context(|| old.display().to_string())?;
    }
    write_folder(trainer, totals, config, &work.join("model"))
}

/// The complete checkpoints of a run, oldest first.
fn checkpoints(work: &Path) -> anyhow::Result<Vec<(u64, PathBuf)>> {
    let folder = work.join("checkpoints");
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let step = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        if let Some(step) = step {
            found.push((step, path));
        }
    }
    found.sort();
    Ok(found)
}
