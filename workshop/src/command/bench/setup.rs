//! What `bench rollout` and `bench update` measure on: a base, a population and its sequences.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lyceum_core::work::{Dtype, LoraShape, Projection};
use lyceum_engine::{Model, Placement, Population};
use lyceum_workshop::random_model;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Spent;
use crate::command::bench;

#[derive(Debug, Args)]
pub(super) struct Setup {
    /// Shape of the base: small (6.6 M parameters), qwen2.5-0.5b, qwen2.5-1.5b or qwen2.5-7b.
    #[arg(long, default_value = "small", conflicts_with = "model")]
    shape: String,
    /// A base in a folder instead of one with random weights. Peers other than vLLM get its shape.
    #[arg(long, value_name = "DIR")]
    pub(super) model: Option<PathBuf>,
    /// Members of the population.
    #[arg(long, default_value_t = 8)]
    pub(super) members: usize,
    /// Rank of the adapters, on all seven projections.
    #[arg(long, default_value_t = 32)]
    pub(super) rank: u32,
    /// Sequences, over all members.
    #[arg(long, default_value_t = 256)]
    pub(super) sequences: usize,
    /// Prompt tokens of each sequence.
    #[arg(long, default_value_t = 64)]
    pub(super) prompt: usize,
    /// Generated or learned tokens of each sequence.
    #[arg(long, default_value_t = 64)]
    pub(super) new: usize,
    /// Samples of each prompt, which is computed once for all of them. Peers compute it for each.
    #[arg(long, default_value_t = 1)]
    pub(super) samples: usize,
    /// Prompts and completions of all lengths from a quarter of --prompt and --new up to these.
    #[arg(long)]
    pub(super) ragged: bool,
    /// Precision: fp32 or bf16.
    #[arg(long, default_value = "fp32")]
    pub(super) dtype: Dtype,
    /// Device: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto")]
    device: String,
    /// Measurements of each; the minimum counts.
    #[arg(long, default_value_t = 3)]
    pub(super) repeats: usize,
    /// A file for the figures, as one JSON object.
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
}

impl Setup {
    /// The base, after checking that the sequences can be shared out evenly.
    pub(super) fn base(&self) -> anyhow::Result<Model> {
        anyhow::ensure!(
            self.members > 0 && self.sequences.is_multiple_of(self.members),
            "--sequences ({}) must be a multiple of --members ({})",
            self.sequences,
            self.members
        );
        anyhow::ensure!(
            self.samples > 0 && (self.sequences / self.members).is_multiple_of(self.samples),
            "the sequences of a member ({}) must be a multiple of --samples ({})",
            self.sequences / self.members,
            self.samples
        );
        let placement = Placement::new(&self.device, self.dtype)?;
        let model = match &self.model {
            None => random_model(bench::named(&self.shape)?, placement)?,
            Some(folder) => Model::load(folder, placement)?,
        };
        let model = model.arranged()?;
        println!(
            "{self}: {:.1} M parameters, {:?}, {}, {} members of rank {}, {} sequences, {} + {} tokens",
            model.config.parameters() as f64 / 1e6,
            placement.device,
            self.dtype,
            self.members,
            self.rank,
            self.sequences,
            self.prompt,
            self.new
        );
        Ok(model)
    }

    pub(super) fn population(&self, model: &Model, members: usize) -> anyhow::Result<Population> {
        let shape = LoraShape::new(self.rank, 2.0 * f64::from(self.rank), false, Projection::ALL.to_vec())?;
        let device = model.placement.device;
        Ok(Population::initialise(&model.config, shape, members, 1, device)?)
    }

    /// Tokens of the prompt and of the completion of a sequence. Samples of one prompt differ in their completions.
    pub(super) fn lengths(&self, index: usize) -> (usize, usize) {
        if !self.ragged {
            return (self.prompt, self.new);
        }
        // Three quarters of the length, spread evenly over the sequences in an order that has no pattern.
        let part = |length: usize, at: usize, of: usize, step: usize| {
            let place = at * step % of.max(1);
            (length / 4 + (length - length / 4) * (place + 1) / of.max(1)).max(1)
        };
        let prompts = self.sequences / self.samples;
        (part(self.prompt, index / self.samples, prompts, 7919), part(self.new, index, self.sequences, 104_729))
    }

    /// What a peer of transformers and peft is to do.
    pub(super) fn job(&self, model: &Model, dtype: &str) -> Value {
        let config = &model.config;
        json!({
            "config": {
                "vocab_size": config.vocab_size,
                "hidden_size": config.hidden_size,
                "intermediate_size": config.intermediate_size,
                "num_hidden_layers": config.num_hidden_layers,
                "num_attention_heads": config.num_attention_heads,
                "num_key_value_heads": config.num_key_value_heads,
                "tie_word_embeddings": config.tie_word_embeddings,
            },
            "members": self.members,
            "rank": self.rank,
            "sequences": self.sequences,
            "prompt": self.prompt,
            "new": self.new,
            "repeats": self.repeats,
            "dtype": dtype,
            "device": if model.placement.device.is_cuda() { "cuda" } else { "cpu" },
        })
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(folder) => folder.display().fmt(f),
            None => f.write_str(&self.shape),
        }
    }
}

/// The least time that a peer took.
#[derive(Deserialize)]
pub(super) struct Peer {
    wall_seconds: f64,
    cpu_seconds: f64,
}

impl Peer {
    pub(super) fn spent(&self) -> Spent {
        Spent { wall: Duration::from_secs_f64(self.wall_seconds), cpu: Duration::from_secs_f64(self.cpu_seconds) }
    }
}
