//! `bench rollout`: generation for a population, compared with one member, libtorch's matrix products alone, and
//! transformers and vLLM.

mod vllm;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::work::{Dtype, LoraShape, Projection, Sampling, VocabularyMask};
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::{Model, Placement, Population};
use lyceum_workshop::random_model;
use serde::Deserialize;
use serde_json::json;
use tch::Device;

use super::Spent;
use super::floor::{self, RolloutSize};
use crate::command::bench;

/// Of the mask over the vocabulary; the speed does not depend on it.
const KEEP_RATE: f64 = 0.9;

const PEER: &str = include_str!("rollout/transformers_peer.py");

/// Generates with random weights and reports tokens per second: of the population, with and without a vocabulary mask,
/// of one member with the same number of sequences, of the matrix products alone in libtorch and, if requested, of
/// transformers with peft's mixed adapters and of vLLM: in a process of its own, over HTTP, and through the worker.
///
/// Only generated tokens are counted; prefilling the prompts is included in the time. The minimum over all repeats
/// counts. Processor time, summed over all threads, is printed beside wall-clock time: compare it on a machine that is
/// also doing other work.
#[derive(Debug, Args)]
pub(super) struct BenchRollout {
    /// Shape of the base: small (6.6 M parameters), qwen2.5-0.5b, qwen2.5-1.5b or qwen2.5-7b.
    #[arg(long, default_value = "small", conflicts_with = "model")]
    shape: String,
    /// A base in a folder instead of one with random weights.
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
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
    /// Samples of each prompt, which is computed once for all of them.
    #[arg(long, default_value_t = 1)]
    samples: usize,
    /// Prompts and completions of all lengths from a quarter of --prompt and --new up to these.
    #[arg(long)]
    ragged: bool,
    /// Sample from the most probable tokens with this total probability.
    #[arg(long, default_value_t = 1.0)]
    top_p: f64,
    /// Sample from this many most probable tokens; 0 from all.
    #[arg(long, default_value_t = 0)]
    top_k: u32,
    /// Sequences decoded at the same time; all of them if left out.
    #[arg(long)]
    max_slots: Option<usize>,
    /// Whether a prompt's keys and values are held once for all its samples. Left out: on a GPU if there are several.
    #[arg(long, value_name = "BOOL")]
    share_prompts: Option<bool>,
    /// Whether a GPU is asked for a whole step at a time, as a CUDA graph. Left out: true.
    #[arg(long, value_name = "BOOL")]
    graphs: Option<bool>,
    /// Measure the population alone, without a mask, one member and the matrix products.
    #[arg(long)]
    brief: bool,
    /// A file for the figures, as one JSON object.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Measurements of each; the minimum counts.
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// A Python with torch, transformers and peft, to measure these in the same run.
    #[arg(long, env = "LYCEUM_PEER_PYTHON")]
    peer_python: Option<OsString>,
    /// A Python with vLLM, to measure it on the same base, adapters, prompts and lengths; docs/SCALING.md says how to install
    /// one.
    #[arg(long, value_name = "PYTHON", requires = "model", conflicts_with_all = ["ragged", "samples", "top_p", "top_k", "brief"])]
    peer_vllm: Option<OsString>,
}

#[derive(Deserialize)]
struct Peer {
    wall_seconds: f64,
    cpu_seconds: f64,
}

impl Peer {
    fn spent(&self) -> Spent {
        Spent {
            wall: Duration::from_secs_f64(self.wall_seconds),
            cpu: Duration::from_secs_f64(self.cpu_seconds),
        }
    }
}

impl BenchRollout {
    pub(super) fn run(&self) -> anyhow::Result<()> {
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
            "{}: {:.1} M parameters, {:?}, {}, {} members of rank {}, {} sequences, {} + {} tokens",
            self.model
                .as_ref()
                .map_or(self.shape.clone(), |folder| folder.display().to_string()),
            model.config.parameters() as f64 / 1e6,
            placement.device,
            self.dtype,
            self.members,
            self.rank,
            self.sequences,
            self.prompt,
            self.new
        );
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
            if self.brief {
                prefill = prefill.min(self.generate(&model, &population, 1, None)?);
                continue;
            }
            masked = masked.min(self.generate(&model, &population, self.new, Some(&mask))?);
            one = one.min(self.generate(&model, &single, self.new, None)?);
            prefill = prefill.min(self.generate(&model, &population, 1, None)?);
            let products = floor::rollout_products(&model, Some(&population), size)?;
            projections = projections.min(products.projections);
            attention = attention.min(products.attention);
        }
        self.report("population", all);
        self.report("  of which prefill", prefill);
        if self.brief {
            return self.report_roofline(&model, &population, all, prefill);
        }
        let products = projections + attention;
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
        if let (Some(python), Some(folder)) = (&self.peer_vllm, &self.model) {
            let prompts = (0..self.sequences).map(|index| Self::prompt(index, self.prompt, model.config.vocab_size));
            let load = vllm::Load {
                prompts: prompts.collect(),
                adapters: (0..self.sequences)
                    .map(|index| self.member(index, self.members))
                    .collect(),
                new: self.new,
                rank: self.rank,
                dtype: self.dtype,
                repeats: self.repeats,
            };
            let found = vllm::measure(python, folder, &population, &load)?;
            self.report("vLLM, one process", found.offline);
            self.report("vLLM over HTTP", found.direct);
            self.report("vLLM from a worker", found.served);
            let (wall, cpu) = ratio(all, found.offline);
            println!("population / vLLM             {wall:>6.2} on the wall {cpu:>6.2} in processor time");
            let (overhead, limit) = found.overhead();
            println!("from a worker / over HTTP     {overhead:>6.2} on the wall, limit {limit}");
        }
        Ok(())
    }

    /// So many ids of the prompt with this number.
    fn prompt(number: usize, length: usize, vocabulary: i64) -> Vec<i64> {
        (0..length)
            .map(|at| ((number * 31 + at * 17) as i64) % vocabulary)
            .collect()
    }

    /// The member of a population of so many that answers a prompt.
    fn member(&self, index: usize, members: usize) -> usize {
        index * members / self.sequences
    }

    /// Tokens of the prompt and of the completion of a sequence. Samples of one prompt differ in their completions.
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

    fn shares_prompts(&self, device: Device) -> bool {
        let samples = if self.ragged { 1 } else { self.samples };
        self.share_prompts
            .unwrap_or(GenerationOptions::shares_prompts(device, samples))
    }

    /// Tokens generated.
    fn tokens(&self) -> usize {
        (0..self.sequences).map(|index| self.lengths(index).1).sum()
    }

    fn report(&self, what: &str, spent: Spent) {
        let rate = self.tokens() as f64 / spent.wall.as_secs_f64();
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
        let steps = (self.new.max(2) - 1) as f64;
        let lengths = || (0..self.sequences).map(|index| self.lengths(index));
        // Samples of a shared prompt read it together; ragged ones are requests of their own.
        let together = match self.shares_prompts(placement.device) && !self.ragged {
            true => self.samples as f64,
            false => 1.0,
        };
        // Sums over all steps, divided by their number.
        let positions = lengths().map(|(prompt, new)| new as f64 * (prompt as f64 / together + new as f64 / 2.0));
        let positions = positions.sum::<f64>() / self.new as f64;
        let rows = self.tokens() as f64 / self.new as f64;
        let cached = 2.0 * config.num_hidden_layers as f64 * config.key_value_size() as f64 * positions;
        let memory = bytes * (read + adapters + cached) / bandwidth;
        let of_output = (config.vocab_size * config.hidden_size) as f64;
        let of_layers = read - of_output + population.parameters_per_member() as f64;
        let products = rows * 2.0 * (of_layers + of_output) / rate;
        let step = (all.wall.saturating_sub(prefill.wall)).as_secs_f64() / steps;
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
        // The output projection is only needed for the last token. Ragged samples of a prompt are requests of their own.
        let of_prompt = if self.ragged { 1 } else { self.samples };
        let prompts = (self.sequences / of_prompt) as f64;
        let prompt_tokens = lengths().map(|(prompt, _)| prompt as f64).sum::<f64>() / of_prompt as f64;
        let of_prompts = 2.0 * (prompt_tokens * of_layers + prompts * of_output) / rate;
        println!(
            "prefill {:.3} s, limit of the products {of_prompts:.3} s",
            prefill.wall.as_secs_f64()
        );
        let Some(out) = &self.out else { return Ok(()) };
        let figures = json!({
            "shape": self.shape,
            "device": format!("{:?}", placement.device),
            "dtype": self.dtype,
            "members": self.members,
            "sequences": self.sequences,
            "samples": self.samples,
            "prompt": self.prompt,
            "new": self.new,
            "ragged": self.ragged,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "max_slots": self.max_slots,
            "share_prompts": self.shares_prompts(placement.device),
            "tokens": self.tokens(),
            "seconds": all.wall.as_secs_f64(),
            "tokens_per_second": self.tokens() as f64 / all.wall.as_secs_f64(),
            "prefill_seconds": prefill.wall.as_secs_f64(),
            "prefill_floor_seconds": of_prompts,
            "step_ms": step * 1e3,
            "step_floor_ms": limit * 1e3,
            "step_floor_of": if memory >= products { "memory" } else { "products" },
            "of_floor": limit / step,
            "bytes_per_second": bandwidth,
            "operations_per_second": rate,
        });
        std::fs::write(out, figures.to_string()).with_context(|| out.display().to_string())
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
            let spent = peer.spent();
            self.report(&format!("transformers, {dtype}"), spent);
            println!(
                "population / transformers     {:>6.2} on the wall {:>6.2} in processor time",
                spent.wall.as_secs_f64() / all.wall.as_secs_f64(),
                spent.cpu.as_secs_f64() / all.cpu.as_secs_f64()
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
        // Samples of a request have one limit, so those of several lengths are requests of their own, with equal prompts.
        let (requests_of_prompt, n) = if self.ragged {
            (self.samples, 1)
        } else {
            (1, self.samples)
        };
        let requests: Vec<_> = (0..self.sequences / self.samples * requests_of_prompt)
            .map(|request| {
                let first = request * n;
                let (prompt, longest) = self.lengths(first);
                let number = first / self.samples;
                GenerationRequest {
                    id: request.to_string(),
                    prompt: Self::prompt(number, prompt, vocabulary),
                    adapter: Some(self.member(first, population.members())),
                    n,
                    sampling: Sampling {
                        max_tokens: longest.min(new) as u32,
                        top_p: self.top_p,
                        top_k: self.top_k,
                        ignore_eos: true,
                        vocabulary_mask: mask.cloned(),
                        ..Sampling::default()
                    },
                    seed: request as u64,
                }
            })
            .collect();
        let options = GenerationOptions {
            max_slots: self.max_slots.unwrap_or(self.sequences),
            share_prompts: self.shares_prompts(model.placement.device),
            graphs: self.graphs.unwrap_or(true),
            ..GenerationOptions::default()
        };
        let generator = Generator {
            model,
            population: Some(population),
            tokenizer: None,
        };
        Ok(bench::timed(model.placement.device, || {
            generator.generate(&requests, &options, &mut |_| ()).map(drop)
        })?)
    }
}
