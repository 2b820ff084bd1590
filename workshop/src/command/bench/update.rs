//! `bench update`: learning for a population, compared with one member, libtorch's matrix products alone, and
//! transformers with peft.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use clap::Args;
use lyceum_core::work::{Dtype, LoraShape, Projection};
use lyceum_engine::learn::{OptimizerState, Padding, TrainedTensor, TrainingSequence, Update, UpdateOptions};
use lyceum_engine::{Model, Placement, Population};
use lyceum_workshop::random_model;
use serde::Deserialize;

use super::Spent;
use super::floor::{self, UpdateSize};
use crate::command::bench;

/// The peer's output.
#[derive(Deserialize)]
struct Peer {
    wall_seconds: f64,
    cpu_seconds: f64,
}

const PEER: &str = include_str!("update_peer.py");

/// Updates adapters of a base with random weights and reports tokens per second: of the population, of one member with
/// the same number of sequences, of the matrix products alone in libtorch (each at its own size, and all at the rate of
/// a large one), and, with --peer-python, of transformers and peft training the members in turn.
#[derive(Debug, Args)]
pub(super) struct BenchUpdate {
    /// Shape of the base: small (6.6 M parameters), qwen2.5-0.5b, qwen2.5-1.5b or qwen2.5-7b.
    #[arg(long, default_value = "small", conflicts_with = "model")]
    shape: String,
    /// A base in a folder instead of one with random weights; the peer gets its shape.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Members of the population.
    #[arg(long, default_value_t = 8)]
    members: usize,
    /// Rank of the adapters.
    #[arg(long, default_value_t = 32)]
    rank: u32,
    /// Sequences per update, over all members.
    #[arg(long, default_value_t = 256)]
    sequences: usize,
    /// Prompt tokens of each sequence.
    #[arg(long, default_value_t = 64)]
    prompt: usize,
    /// Learned tokens of each sequence.
    #[arg(long, default_value_t = 64)]
    new: usize,
    /// Samples per prompt, whose computation they share. The peer computes the prompt for each.
    #[arg(long, default_value_t = 1)]
    samples: usize,
    /// Tokens per micro-batch, over all members; the peer's micro-batches are of one member.
    #[arg(long, default_value_t = 4096)]
    micro_batch_tokens: usize,
    /// Recompute activations for the backward pass, also in the peer.
    #[arg(long)]
    recompute: bool,
    /// Prompts and completions of all lengths from a quarter of --prompt and --new up to these.
    #[arg(long)]
    ragged: bool,
    /// How attention pads sequences: `longest`, or `length` in buckets. Left out, as the device does it.
    #[arg(long, value_parser = padding, value_name = "HOW")]
    padding: Option<Padding>,
    /// Logits held at a time. Left out, as the device does it.
    #[arg(long)]
    logits: Option<usize>,
    /// Compute a prompt for each of its samples.
    #[arg(long)]
    without_sharing: bool,
    /// Measure the population alone, without one member and the matrix products.
    #[arg(long)]
    brief: bool,
    /// A file for the figures, as one JSON object.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Precision: fp32 or bf16.
    #[arg(long, default_value = "fp32")]
    dtype: Dtype,
    /// Device: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto")]
    device: String,
    /// Measurements of each; the minimum counts.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// A Python with torch, transformers and peft, for running the peer in both precisions.
    #[arg(long, value_name = "PYTHON")]
    peer_python: Option<PathBuf>,
}

fn padding(how: &str) -> Result<Padding, String> {
    match how {
        "longest" => Ok(Padding::ToLongest),
        "length" => Ok(Padding::BY_LENGTH),
        _ => Err("use longest or length".to_owned()),
    }
}

impl BenchUpdate {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let placement = Placement::new(&self.device, self.dtype)?;
        let model = match &self.model {
            None => random_model(bench::named(&self.shape)?, placement)?,
            Some(folder) => Model::load(folder, placement)?,
        };
        let model = model.arranged()?;
        println!(
            "{}: {:.1} M parameters, {} members of rank {}, {} sequences of {} + {} tokens, {:?}, {}",
            self.base(),
            model.config.parameters() as f64 / 1e6,
            self.members,
            self.rank,
            self.sequences,
            self.prompt,
            self.new,
            placement.device,
            self.dtype
        );
        let (population, single) = (self.population(&model, self.members)?, self.population(&model, 1)?);
        let mut ours = self.update(&model, &population)?;
        let mut alone = match self.brief {
            true => Spent::MAX,
            false => self.update(&model, &single)?,
        };
        for _ in 1..self.repeats {
            ours = ours.min(self.update(&model, &population)?);
            if !self.brief {
                alone = alone.min(self.update(&model, &single)?);
            }
        }
        let lengths = (0..self.sequences).map(|index| self.lengths(index));
        let tokens = lengths.map(|(prompt, new)| prompt + new).sum::<usize>() as f64;
        let report = |name: &str, wall: f64, cpu: f64| {
            println!(
                "{name:<14} {:>9.0} tokens/s, {cpu:>8.2} s of processor; the population takes {:.2} of its time, {:.2} of its processor time",
                tokens / wall,
                ours.wall.as_secs_f64() / wall,
                ours.cpu.as_secs_f64() / cpu
            );
        };
        report("population", ours.wall.as_secs_f64(), ours.cpu.as_secs_f64());
        let rate = floor::product_rate(placement.device, placement.kind())?;
        let operations = self.operations(&model, &population);
        self.write(ours, tokens, operations / rate, rate)?;
        if self.brief {
            println!("{:.2} of its floor", operations / rate / ours.wall.as_secs_f64());
            return Ok(());
        }
        report("one member", alone.wall.as_secs_f64(), alone.cpu.as_secs_f64());
        let size = UpdateSize {
            sequences: self.sequences as i64,
            length: (self.prompt + self.new - 1) as i64,
            learned: self.new as i64,
            micro_batch_tokens: self.micro_batch_tokens as i64,
        };
        let mut products = floor::update_products(&model, &population.shape, size)?;
        for _ in 1..self.repeats {
            products = products.min(floor::update_products(&model, &population.shape, size)?);
        }
        report(
            "products alone",
            products.wall.as_secs_f64(),
            products.cpu.as_secs_f64(),
        );
        let products = operations / rate;
        println!(
            "a large one    {:>9.0} tokens/s at its {:.0} GFLOP/s",
            tokens / products,
            rate / 1e9
        );
        if let Some(python) = &self.peer_python {
            for dtype in ["float32", "bfloat16"] {
                let Peer {
                    wall_seconds,
                    cpu_seconds,
                } = self.peer(python, &model, dtype)?;
                report(&format!("peer {dtype}"), wall_seconds, cpu_seconds);
            }
        }
        Ok(())
    }

    /// The shape, or the folder of the base.
    fn base(&self) -> String {
        let folder = self.model.as_ref().map(|folder| folder.display().to_string());
        folder.unwrap_or_else(|| self.shape.clone())
    }

    /// Tokens of the prompt and of the completion of a sequence.
    fn lengths(&self, index: usize) -> (usize, usize) {
        if !self.ragged {
            return (self.prompt, self.new);
        }
        // Three quarters of the length, spread evenly over the sequences in an order that has no pattern.
        let part = |length: usize, at: usize, of: usize, step: usize| {
            let place = at * step % of.max(1);
            (length / 4 + (length - length / 4) * (place + 1) / of.max(1)).max(1)
        };
        let prompts = self.sequences / self.samples;
        (
            part(self.prompt, index / self.samples, prompts, 7919),
            part(self.new, index, self.sequences, 104_729),
        )
    }

    /// Writes the figures to the file that was asked for. The floor is the time of all products at the rate of a large one.
    fn write(&self, ours: Spent, tokens: f64, floor: f64, rate: f64) -> anyhow::Result<()> {
        let Some(out) = &self.out else { return Ok(()) };
        let seconds = ours.wall.as_secs_f64();
        let figures = serde_json::json!({
            "shape": self.base(),
            "device": self.device,
            "dtype": self.dtype,
            "members": self.members,
            "sequences": self.sequences,
            "samples": self.samples,
            "prompt": self.prompt,
            "new": self.new,
            "ragged": self.ragged,
            "micro_batch_tokens": self.micro_batch_tokens,
            "recompute": self.recompute,
            "padding": self.padding.map(|padding| format!("{padding:?}")),
            "logits": self.logits,
            "sharing": !self.without_sharing,
            "tokens": tokens,
            "seconds": seconds,
            "tokens_per_second": tokens / seconds,
            "floor_seconds": floor,
            "of_floor": floor / seconds,
            "operations_per_second": rate,
        });
        std::fs::write(out, figures.to_string()).with_context(|| out.display().to_string())
    }

    fn population(&self, model: &Model, members: usize) -> anyhow::Result<Population> {
        let shape = LoraShape::new(self.rank, 2.0 * f64::from(self.rank), false, Projection::ALL.to_vec())?;
        Ok(Population::initialise(
            &model.config,
            shape,
            members,
            1,
            model.placement.device,
        )?)
    }

    /// One optimizer step on all sequences.
    fn update(&self, model: &Model, population: &Population) -> anyhow::Result<Spent> {
        let members = population.members();
        let id = |seed: usize| (seed * 7919 % model.config.vocab_size as usize) as i64;
        let sequence = |index: usize| {
            let (prompt, new) = self.lengths(index);
            TrainingSequence {
                id: index.to_string(),
                prompt: (0..prompt).map(|at| id(index / self.samples * 31 + at * 17)).collect(),
                completion: (0..new).map(|at| id(index * 13 + at * 29)).collect(),
                logprobs: vec![-7.0; new],
                advantage: if index.is_multiple_of(2) { 1.0 } else { -1.0 },
            }
        };
        let per_member = self.sequences / members;
        let sequences: Vec<Vec<_>> = (0..members)
            .map(|member| (0..per_member).map(|at| sequence(member * per_member + at)).collect())
            .collect();
        let options = UpdateOptions {
            micro_batch_tokens: self.micro_batch_tokens,
            recompute: self.recompute,
            share_prompts: !self.without_sharing,
            padding: self.padding,
            logits: self.logits,
            ..UpdateOptions::default()
        };
        let update = Update {
            model,
            options: &options,
            reference: None,
        };
        let state = OptimizerState::new(&TrainedTensor::of_population(population))?;
        Ok(bench::timed(model.placement.device, || {
            update.run(population, &state, &sequences, &mut |_| ()).map(drop)
        })?)
    }

    /// Multiplications and additions of an update without recomputation or sharing: two for each weight of the base
    /// forward and two backward, two and four for each of the adapter's, plus the output projection for learned tokens.
    fn operations(&self, model: &Model, population: &Population) -> f64 {
        let config = &model.config;
        let embeddings = config.vocab_size * config.hidden_size * if config.tie_word_embeddings { 1 } else { 2 };
        let layers = (config.parameters() - embeddings) as f64;
        let head = (config.vocab_size * config.hidden_size) as f64;
        let lengths = || (0..self.sequences).map(|index| self.lengths(index));
        let inputs = lengths().map(|(prompt, new)| prompt + new - 1).sum::<usize>() as f64;
        let learned = lengths().map(|(_, new)| new).sum::<usize>() as f64;
        inputs * (4.0 * layers + 6.0 * population.parameters_per_member() as f64) + learned * 4.0 * head
    }

    fn peer(&self, python: &PathBuf, model: &Model, dtype: &str) -> anyhow::Result<Peer> {
        let config = &model.config;
        let size = serde_json::json!({
            "vocab_size": config.vocab_size,
            "hidden_size": config.hidden_size,
            "intermediate_size": config.intermediate_size,
            "num_hidden_layers": config.num_hidden_layers,
            "num_attention_heads": config.num_attention_heads,
            "num_key_value_heads": config.num_key_value_heads,
            "tie_word_embeddings": config.tie_word_embeddings,
            "members": self.members,
            "rank": self.rank,
            "sequences": self.sequences,
            "prompt": self.prompt,
            "new": self.new,
            "micro_batch_tokens": self.micro_batch_tokens,
            "recompute": self.recompute,
            "repeats": self.repeats,
            "threads": std::thread::available_parallelism().map_or(1, usize::from),
            "device": if model.placement.device.is_cuda() { "cuda" } else { "cpu" },
            "dtype": dtype,
        });
        let output = Command::new(python)
            .args(["-c", PEER, &size.to_string()])
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot run {}", python.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(text.trim())
            .with_context(|| format!("{} printed `{}`, not the times", python.display(), text.trim()))
    }
}
