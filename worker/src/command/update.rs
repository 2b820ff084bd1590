//! `update`: trains adapters on scored samples from a file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use lyceum_core::work::{Loss, MemberDiagnostics, Optimizer, PolicyLoss};
use lyceum_engine::learn::{OptimizerState, TrainedTensor, TrainingSequence, Update as Learning, UpdateOptions};
use lyceum_engine::peft::{read_population, write_member};
use lyceum_worker::lines::read_lines;
use lyceum_worker::progress::progress_bar;
use serde::{Deserialize, Serialize};

use super::loading::ModelArgs;

/// Update adapters: one JSON object per line in; adapters, optimizer states and diagnostics out.
///
/// A sample: {"id": "a", "adapter": 0, "prompt_ids": [1, 2], "ids": [3, 4], "logprobs": [-0.7, -1.2], "advantage":
/// 0.5}. `adapter` is the index of an --adapter; `logprobs` are the sampler's, one per id. The cross-entropy needs
/// neither `logprobs` nor `advantage`. Adjacent samples with equal prompts share the prompt's computation.
///
/// Writes to --out: for each adapter a PEFT folder `0`, `1`, .. with its `optimizer.safetensors`, and
/// `diagnostics.json`. To continue from there, pass the folders as --adapter and as --optimizer.
#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    model: ModelArgs,
    /// File of samples.
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,
    /// Output folder; created if missing.
    #[arg(long = "out", value_name = "DIR")]
    output: PathBuf,
    /// Folder with an `optimizer.safetensors`, one for each --adapter in the same order; without it AdamW starts
    /// afresh.
    #[arg(long = "optimizer", value_name = "DIR")]
    optimizers: Vec<PathBuf>,
    /// TOML file with the tables `loss` (clip_low, clip_high, clip_dual, old_policy, importance_cap, aggregation,
    /// constant_length, entropy, kl, kl_reference) and `optimizer` (learning_rate, beta1, beta2, eps, weight_decay, max_grad_norm, epochs,
    /// minibatches); missing keys have their defaults.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The objective to minimise.
    #[arg(long, value_enum, default_value_t = LossName::PolicyGradient)]
    loss: LossName,
    /// Step size, overrides the config.
    #[arg(long)]
    learning_rate: Option<f64>,
    /// Passes over the samples, overrides the config.
    #[arg(long)]
    epochs: Option<u32>,
    /// Optimizer steps per pass, overrides the config.
    #[arg(long)]
    minibatches: Option<u32>,
    /// PEFT folder of the reference for the KL term, one for each --adapter in the same order, overrides the config.
    #[arg(long = "kl-reference", value_name = "DIR")]
    kl_references: Vec<PathBuf>,
    /// Tokens per micro-batch.
    #[arg(long, default_value_t = 4096)]
    micro_batch_tokens: usize,
    /// Keep all activations instead of recomputing them: faster, but takes more memory.
    #[arg(long)]
    keep_activations: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LossName {
    /// The clipped policy gradient.
    PolicyGradient,
    /// The mean negative log-likelihood of `ids`.
    CrossEntropy,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Config {
    loss: PolicyLoss,
    optimizer: Optimizer,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    id: String,
    adapter: usize,
    prompt_ids: Vec<i64>,
    ids: Vec<i64>,
    #[serde(default)]
    logprobs: Vec<f32>,
    advantage: Option<f32>,
}

#[derive(Debug, Serialize)]
struct Diagnostics {
    adapters: Vec<MemberDiagnostics>,
    halvings: u32,
    seconds: f64,
}

impl Update {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let options = self.options()?;
        let samples: Vec<Sample> = read_lines(&self.input)?;
        let loaded = self.model.load()?;
        let (model, device) = (&loaded.model, loaded.model.placement.device);
        let population = loaded.population.context("an update needs at least one --adapter")?;
        let members = population.members();
        let sequences = by_member(samples, members, &options.loss)?;
        let trained = TrainedTensor::of_population(&population);
        let state = match self.optimizers.len() {
            0 => OptimizerState::new(&trained)?,
            _ => OptimizerState::read(&self.optimizers.iter().cloned().map(Some).collect::<Vec<_>>(), &trained)?,
        };
        let versions = match self.kl_references.len() {
            0 => None,
            _ => Some(read_population(&self.kl_references, &model.config, device)?),
        };
        let learning = Learning { model, options: &options, reference: versions.as_ref() };
        let total = sequences.iter().map(Vec::len).sum::<usize>() as u64 * u64::from(options.optimizer.epochs);
        let bar = progress_bar(total, "sequences");
        let start = std::time::Instant::now();
        let updated =
            learning.run(&population, &state, &sequences, &mut |progress| bar.set_position(progress.done as u64))?;
        bar.finish_and_clear();
        if updated.halvings > 0 {
            eprintln!("out of memory: the micro-batch was halved {} times", updated.halvings);
        }
        let base = self.model.folder()?.display().to_string();
        for member in 0..members {
            let folder = self.output.join(member.to_string());
            write_member(&updated.population, member, &base, &folder)?;
            updated.state.write_member(member, &folder)?;
        }
        let diagnostics = Diagnostics {
            adapters: updated.diagnostics,
            halvings: updated.halvings,
            seconds: start.elapsed().as_secs_f64(),
        };
        let path = self.output.join("diagnostics.json");
        let text = serde_json::to_string_pretty(&diagnostics)? + "\n";
        std::fs::write(&path, text).with_context(|| path.display().to_string())
    }

    fn options(&self) -> anyhow::Result<UpdateOptions> {
        let Config { loss, mut optimizer } = match &self.config {
            Some(path) => read_config(path)?,
            None => Config::default(),
        };
        optimizer.learning_rate = self.learning_rate.unwrap_or(optimizer.learning_rate);
        optimizer.epochs = self.epochs.unwrap_or(optimizer.epochs);
        optimizer.minibatches = self.minibatches.unwrap_or(optimizer.minibatches);
        Ok(UpdateOptions {
            loss: match self.loss {
                LossName::PolicyGradient => Loss::PolicyGradient(loss),
                LossName::CrossEntropy => Loss::CrossEntropy,
            },
            optimizer,
            micro_batch_tokens: self.micro_batch_tokens,
            recompute: !self.keep_activations,
            ..UpdateOptions::default()
        })
    }
}

fn read_config(path: &Path) -> anyhow::Result<Config> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

fn by_member(samples: Vec<Sample>, members: usize, loss: &Loss) -> anyhow::Result<Vec<Vec<TrainingSequence>>> {
    let mut sequences = vec![Vec::new(); members];
    for Sample { id, adapter, prompt_ids, ids, logprobs, advantage } in samples {
        let of_member = sequences
            .get_mut(adapter)
            .with_context(|| format!("sample `{id}` names adapter {adapter}; {members} were given, counted from 0"))?;
        let advantage = match (advantage, loss) {
            (Some(advantage), _) => advantage,
            (None, Loss::CrossEntropy) => 0.0,
            (None, Loss::PolicyGradient(_)) => anyhow::bail!("sample `{id}` has no `advantage`"),
        };
        of_member.push(TrainingSequence { id, prompt: prompt_ids, completion: ids, logprobs, advantage });
    }
    Ok(sequences)
}
