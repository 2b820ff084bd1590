//! `bench rollout`: generation for a population, compared with one member, libtorch's matrix products alone, and
//! transformers.

use std::ffi::OsString;
use std::process::Command;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::work::{Dtype, LoraShape, Projection, Sampling, VocabularyMask};
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::{Model, Placement, Population};
use lyceum_workshop::random_model;
use serde::Deserialize;
use serde_json::json;

use super::floor::{self, RolloutSize};
use super::shape;
use super::spent::{self, Spent};

/// Of the mask over the vocabulary; the speed does not depend on it.
const KEEP_RATE: f64 = 0.9;

const PEER: &str = include_str!("rollout_peer.py");

/// Generates with random weights and reports tokens per second: of the population, with and without a vocabulary mask,
/// of one member with the same number of sequences, of the matrix products alone in libtorch and, if requested, of
/// transformers with peft's mixed adapters.
///
/// Only generated tokens are counted; prefilling the prompts is included in the time. The minimum over all repeats
/// counts. Processor time, summed over all threads, is printed beside wall-clock time: compare it on a machine that is
/// also doing other work.
#[derive(Debug, Args)]
pub(super) struct BenchRollout {
    /// Shape of the base: small (6.6 M parameters), qwen2.5-0.5b, qwen2.5-1.5b or qwen2.5-7b.
    #[arg(long, default_value = "small")]
    shape: String,
    /// Members of the population.
    #[arg(long, default_value_t = 8)]
    members: usize,
    /// Rank of the adapters, on all seven projections.
    #[arg(long, default_value_t = 32)]
    rank: u32,
    /// Sequences in the batch, over all members.
    #[arg(long, default_value_t = 256)]
    sequences: usize,
    /// Prompt tokens of each sequence.
    #[arg(long, default_value_t = 64)]
    prompt: usize,
    /// Generated tokens of each sequence.
    #[arg(long, default_value_t = 64)]
    new: usize,
    /// Precision: fp32 or bf16.
    #[arg(long, default_value = "fp32")]
    dtype: Dtype,
    /// Device: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto")]
    device: String,
    /// Measurements of each; the minimum counts.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// A Python with torch, transformers and peft, to measure these in the same run.
    #[arg(long, env = "LYCEUM_PEER_PYTHON")]
    peer_python: Option<OsString>,
}

#[derive(Deserialize)]
struct Peer {
    wall_seconds: f64,
    cpu_seconds: f64,
}

impl BenchRollout {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.members > 0 && self.sequences.is_multiple_of(self.members),
            "--sequences ({}) must be a multiple of --members ({})",
            self.sequences,
            self.members
        );
        let placement = Placement::new(&self.device, self.dtype)?;
        let config = shape::named(&self.shape)?;
        println!(
            "{}: {:.1} M parameters, {:?}, {}, {} members of rank {}, {} sequences, {} + {} tokens",
            self.shape,
            config.parameters() as f64 / 1e6,
            placement.device,
            self.dtype,
            self.members,
            self.rank,
            self.sequences,
            self.prompt,
            self.new
        );
        let model = random_model(config, placement)?.arranged()?;
        let population = self.population(&model, self.members)?;
        let single = self.population(&model, 1)?;
        let size = RolloutSize {
            sequences: self.sequences as i64,
            prompt: self.prompt as i64,
            new: self.new as i64,
        };
        let mask = VocabularyMask {
            seed: 1,
            keep_rate: KEEP_RATE,
            protected: Vec::new(),
            protected_texts: Vec::new(),
        };
        let (mut all, mut masked) = (Spent::MAX, Spent::MAX);
        let (mut one, mut prefill) = (Spent::MAX, Spent::MAX);
        let (mut projections, mut attention) = (Spent::MAX, Spent::MAX);
        for _ in 0..self.repeats {
            all = all.min(self.generate(&model, &population, self.new, None)?);
            masked = masked.min(self.generate(&model, &population, self.new, Some(&mask))?);
            one = one.min(self.generate(&model, &single, self.new, None)?);
            prefill = prefill.min(self.generate(&model, &population, 1, None)?);
            let products = floor::rollout_products(&model, Some(&population), size)?;
            projections = projections.min(products.projections);
            attention = attention.min(products.attention);
        }
        let products = projections + attention;
        self.report("population", all);
        self.report("  of which prefill", prefill);
        self.report("  with a mask", masked);
        self.report("one member", one);
        self.report("matrix products", products);
        self.report("  of which attention", attention);
        let ratio = |of: Spent, to: Spent| {
            (
                to.wall.as_secs_f64() / of.wall.as_secs_f64(),
                to.cpu.as_secs_f64() / of.cpu.as_secs_f64(),
            )
        };
        let (wall, cpu) = ratio(masked, all);
        println!("with a mask / without         {wall:>6.2} on the wall {cpu:>6.2} in processor time");
        let (wall, cpu) = ratio(all, products);
        println!("population / matrix products  {wall:>6.2} on the wall {cpu:>6.2} in processor time");
        let (wall, cpu) = ratio(all, one);
        println!("population / one member       {wall:>6.2} on the wall {cpu:>6.2} in processor time");
        self.report_roofline(&model, &population, all, prefill)?;
        match &self.peer_python {
            None => println!("peer not run: name a Python with torch, transformers and peft by --peer-python"),
            Some(python) => self.run_peers(python, &model, all)?,
        }
        Ok(())
    }

    fn report(&self, what: &str, spent: Spent) {
        let rate = (self.sequences * self.new) as f64 / spent.wall.as_secs_f64();
        println!(
            "{what:<22} {rate:>9.0} tokens/s {:>9.3} s {:>9.3} processor s",
            spent.wall.as_secs_f64(),
            spent.cpu.as_secs_f64()
        );
    }

    /// A decoding step can be no faster than reading all weights, adapters, keys and values once, nor faster than its
    /// products.
    fn report_roofline(
        &self,
        model: &Model,
        population: &Population,
        all: Spent,
        prefill: Spent,
    ) -> anyhow::Result<()> {
        let placement = model.placement;
        let bandwidth = floor::memory_bandwidth(placement.device)?;
        let rate = floor::product_rate(placement.device, placement.kind())?;
        let config = &model.config;
        let bytes = placement.dtype.bytes() as f64;
        let embedding = if config.tie_word_embeddings {
            0
        } else {
            config.vocab_size * config.hidden_size
        };
        // Only a few rows of an untied embedding are read.
        let read = (config.parameters() - embedding) as f64;
        let adapters = (population.parameters_per_member() * population.members() as i64) as f64;
        let positions = self.sequences as f64 * (self.prompt as f64 + self.new as f64 / 2.0);
        let cached = 2.0 * config.num_hidden_layers as f64 * config.key_value_size() as f64 * positions;
        let memory = bytes * (read + adapters + cached) / bandwidth;
        let of_output = (config.vocab_size * config.hidden_size) as f64;
        let of_layers = read - of_output + population.parameters_per_member() as f64;
        let products = self.sequences as f64 * 2.0 * (of_layers + of_output) / rate;
        let step = (all.wall.saturating_sub(prefill.wall)).as_secs_f64() / (self.new.max(2) - 1) as f64;
        let limit = memory.max(products);
        println!(
            "memory {:.1} GB/s, products {:.0} GFLOP/s, measured here",
            bandwidth / 1e9,
            rate / 1e9
        );
        println!(
            "decoding step {:.3} ms, limit {:.3} ms (memory {:.3}, products {:.3}): {:.2} of the limit's speed",
            step * 1e3,
            limit * 1e3,
            memory * 1e3,
            products * 1e3,
            limit / step
        );
        // The output projection is only needed for the last token.
        let limit = self.sequences as f64 * 2.0 * (self.prompt as f64 * of_layers + of_output) / rate;
        println!(
            "prefill {:.3} s, limit of the products {limit:.3} s",
            prefill.wall.as_secs_f64()
        );
        Ok(())
    }

    fn run_peers(&self, python: &OsString, model: &Model, all: Spent) -> anyhow::Result<()> {
        let config = &model.config;
        for dtype in ["fp32", "bf16"] {
            let job = json!({
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
                "dtype": dtype,
                "device": if model.placement.device.is_cuda() { "cuda" } else { "cpu" },
                "threads": 0,
                "repeats": self.repeats,
            });
            let output = Command::new(python).args(["-c", PEER, &job.to_string()]).output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            anyhow::ensure!(output.status.success(), "the peer failed: {said}");
            let peer: Peer = serde_json::from_slice(&output.stdout).context("the peer's answer")?;
            let tokens = (self.sequences * self.new) as f64;
            println!(
                "transformers + peft, {dtype} {:>9.0} tokens/s {:>9.3} s {:>9.3} processor s",
                tokens / peer.wall_seconds,
                peer.wall_seconds,
                peer.cpu_seconds
            );
            println!(
                "population / transformers     {:>6.2} on the wall {:>6.2} in processor time",
                peer.wall_seconds / all.wall.as_secs_f64(),
                peer.cpu_seconds / all.cpu.as_secs_f64()
            );
        }
        Ok(())
    }

    fn population(&self, model: &Model, members: usize) -> anyhow::Result<Population> {
        let shape = LoraShape::new(self.rank, 2.0 * f64::from(self.rank), false, Projection::ALL.to_vec())?;
        let population = Population::initialise(&model.config, shape, members, 1, model.placement.device)?;
        Ok(population.to(model.placement.device, model.placement.kind())?)
    }

    fn generate(
        &self,
        model: &Model,
        population: &Population,
        new: usize,
        mask: Option<&VocabularyMask>,
    ) -> anyhow::Result<Spent> {
        let vocabulary = model.config.vocab_size;
        let requests: Vec<_> = (0..self.sequences)
            .map(|index| GenerationRequest {
                id: index.to_string(),
                prompt: (0..self.prompt)
                    .map(|at| ((index * 31 + at * 17) as i64) % vocabulary)
                    .collect(),
                adapter: Some(index * population.members() / self.sequences),
                n: 1,
                sampling: Sampling {
                    max_tokens: new as u32,
                    ignore_eos: true,
                    vocabulary_mask: mask.cloned(),
                    ..Sampling::default()
                },
                seed: index as u64,
            })
            .collect();
        let options = GenerationOptions {
            max_slots: self.sequences,
            ..GenerationOptions::default()
        };
        let generator = Generator {
            model,
            population: Some(population),
            tokenizer: None,
        };
        Ok(spent::timed(model.placement.device, || {
            generator.generate(&requests, &options, &mut |_| ()).map(drop)
        })?)
    }
}
