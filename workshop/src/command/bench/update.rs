//! `bench update`: learning for a population, compared with one member, libtorch's matrix products alone, and
//! transformers with peft.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use clap::Args;
use lyceum_engine::learn::{OptimizerState, Padding, TrainedTensor, TrainingSequence, Update, UpdateOptions};
use lyceum_engine::{Model, Population};

use super::Spent;
use super::floor::{self, UpdateSize};
use super::setup::{Peer, Setup};
use crate::command::bench;

const PEER: &str = include_str!("update_peer.py");

/// Updates adapters of a base with random weights and reports tokens per second: of the population, of one member with
/// the same number of sequences, of only the matrix products in libtorch (each at its own size, and all at the rate of
/// a large one), and, with --peer-python, of transformers and peft training the members in turn.
#[derive(Debug, Args)]
pub(super) struct BenchUpdate {
    #[command(flatten)]
    setup: Setup,
    /// Tokens per micro-batch, over all members; the peer's micro-batches are of one member.
    #[arg(long, default_value_t = 4096)]
    micro_batch_tokens: usize,
    /// Recompute activations for the backward pass, also in the peer.
    #[arg(long)]
    recompute: bool,
    /// How attention pads sequences: `longest`, or `length` in buckets. Left out, as the device does it.
    #[arg(long, value_parser = padding, value_name = "HOW")]
    padding: Option<Padding>,
    /// Logits held at a time. Left out, as the device does it.
    #[arg(long)]
    logits: Option<usize>,
    /// Compute a prompt for each of its samples.
    #[arg(long)]
    without_sharing: bool,
    /// Measure only the population, without one member and the matrix products.
    #[arg(long)]
    brief: bool,
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
        let model = self.setup.base()?;
        let placement = model.placement;
        let (population, single) =
            (self.setup.population(&model, self.setup.members)?, self.setup.population(&model, 1)?);
        let mut ours = self.update(&model, &population)?;
        let mut alone = if self.brief { Spent::MAX } else { self.update(&model, &single)? };
        for _ in 1..self.setup.repeats {
            ours = ours.min(self.update(&model, &population)?);
            if !self.brief {
                alone = alone.min(self.update(&model, &single)?);
            }
        }
        let lengths = (0..self.setup.sequences).map(|index| self.setup.lengths(index));
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
        self.write(&model, ours, tokens, operations / rate, rate)?;
        if self.brief {
            println!("{:.2} of its floor", operations / rate / ours.wall.as_secs_f64());
            return Ok(());
        }
        report("one member", alone.wall.as_secs_f64(), alone.cpu.as_secs_f64());
        let size = UpdateSize {
            sequences: self.setup.sequences as i64,
            length: (self.setup.prompt + self.setup.new - 1) as i64,
            learned: self.setup.new as i64,
            micro_batch_tokens: self.micro_batch_tokens as i64,
        };
        let mut products = floor::update_products(&model, &population.shape, size)?;
        for _ in 1..self.setup.repeats {
            products = products.min(floor::update_products(&model, &population.shape, size)?);
        }
        report("products alone", products.wall.as_secs_f64(), products.cpu.as_secs_f64());
        let products = operations / rate;
        println!("a large one    {:>9.0} tokens/s at its {:.0} GFLOP/s", tokens / products, rate / 1e9);
        if let Some(python) = &self.peer_python {
            for dtype in ["float32", "bfloat16"] {
                let spent = self.peer(python, &model, dtype)?.spent();
                report(&format!("peer {dtype}"), spent.wall.as_secs_f64(), spent.cpu.as_secs_f64());
            }
        }
        Ok(())
    }

    /// Writes the figures to the file that was asked for. The floor is the time of all products at the rate of a large one.
    fn write(&self, model: &Model, ours: Spent, tokens: f64, floor: f64, rate: f64) -> anyhow::Result<()> {
        let Some(out) = &self.setup.out else { return Ok(()) };
        let seconds = ours.wall.as_secs_f64();
        let figures = serde_json::json!({
            "shape": self.setup.to_string(),
            "device": format!("{:?}", model.placement.device),
            "dtype": self.setup.dtype,
            "members": self.setup.members,
            "sequences": self.setup.sequences,
            "samples": self.setup.samples,
            "prompt": self.setup.prompt,
            "new": self.setup.new,
            "ragged": self.setup.ragged,
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

    /// One optimizer step on all sequences.
    fn update(&self, model: &Model, population: &Population) -> anyhow::Result<Spent> {
        let members = population.members();
        let id = |seed: usize| (seed * 7919 % model.config.vocab_size as usize) as i64;
        let sequence = |index: usize| {
            let (prompt, new) = self.setup.lengths(index);
            TrainingSequence {
                id: index.to_string(),
                prompt: (0..prompt).map(|at| id(index / self.setup.samples * 31 + at * 17)).collect(),
                completion: (0..new).map(|at| id(index * 13 + at * 29)).collect(),
                logprobs: vec![-7.0; new],
                advantage: if index.is_multiple_of(2) { 1.0 } else { -1.0 },
            }
        };
        let per_member = self.setup.sequences / members;
        let sequences: Vec<Vec<_>> =
            (0..members).map(|member| (0..per_member).map(|at| sequence(member * per_member + at)).collect()).collect();
        let options = UpdateOptions {
            micro_batch_tokens: self.micro_batch_tokens,
            recompute: self.recompute,
            share_prompts: !self.without_sharing,
            padding: self.padding,
            logits: self.logits,
            ..UpdateOptions::default()
        };
        let update = Update { model, options: &options, reference: None };
        let state = OptimizerState::new(&TrainedTensor::of_population(population))?;
        Ok(bench::timed(model.placement.device, || update.run(population, &state, &sequences, &mut |_| ()).map(drop))?)
    }

    /// Multiplications and additions of an update without recomputation or sharing: two for each weight of the base
    /// forward and two backward, two and four for each of the adapter's, plus the output projection for learned tokens.
    fn operations(&self, model: &Model, population: &Population) -> f64 {
        let config = &model.config;
        let embeddings = config.vocab_size * config.hidden_size * if config.tie_word_embeddings { 1 } else { 2 };
        let layers = (config.parameters() - embeddings) as f64;
        let head = (config.vocab_size * config.hidden_size) as f64;
        let lengths = || (0..self.setup.sequences).map(|index| self.setup.lengths(index));
        let inputs = lengths().map(|(prompt, new)| prompt + new - 1).sum::<usize>() as f64;
        let learned = lengths().map(|(_, new)| new).sum::<usize>() as f64;
        inputs * (4.0 * layers + 6.0 * population.parameters_per_member() as f64) + learned * 4.0 * head
    }

    fn peer(&self, python: &PathBuf, model: &Model, dtype: &str) -> anyhow::Result<Peer> {
        let mut size = self.setup.job(model, dtype);
        size["micro_batch_tokens"] = self.micro_batch_tokens.into();
        size["recompute"] = self.recompute.into();
        size["threads"] = std::thread::available_parallelism().map_or(1, usize::from).into();
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
