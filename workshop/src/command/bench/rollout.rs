//! `bench rollout`: generation for a population, compared with one member, libtorch's matrix products alone, and
//! transformers and vLLM.

mod vllm;

use std::ffi::OsString;
use std::process::Command;

use anyhow::Context as _;
use clap::Args;
use lyceum_core::work::{Sampling, VocabularyMask};
use lyceum_engine::generate::{GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::{Model, Population};
use serde_json::json;
use tch::Device;

use super::Spent;
use super::floor::{self, RolloutSize};
use super::setup::{Peer, Setup};
use crate::command::bench;

/// Of the mask over the vocabulary; the speed does not depend on it.
const KEEP_RATE: f64 = 0.9;

const PEER: &str = include_str!("rollout/transformers_peer.py");

/// Generates with random weights and reports tokens per second: of the population, with and without a vocabulary mask,
/// of one member with the same number of sequences, of only the matrix products in libtorch and, if requested, of
/// transformers with peft's mixed adapters and of vLLM: in a process of its own, over HTTP, and through the worker.
///
/// Only generated tokens are counted; prefilling the prompts is included in the time. The minimum over all repeats
/// counts. Processor time, summed over all threads, is printed next to wall-clock time: compare it on a machine that is
/// also doing other work.
#[derive(Debug, Args)]
pub(super) struct BenchRollout {
    #[command(flatten)]
    setup: Setup,
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
    /// Measure only the population, without a mask, one member and the matrix products.
    #[arg(long)]
    brief: bool,
    /// A Python with torch, transformers and peft, to measure these in the same run.
    #[arg(long, env = "LYCEUM_PEER_PYTHON")]
    peer_python: Option<OsString>,
    /// A Python with vLLM, to measure it on the same base, adapters, prompts and lengths; docs/SCALING.md says how to install
    /// one.
    #[arg(long, value_name = "PYTHON", requires = "model", conflicts_with_all = ["ragged", "samples", "top_p", "top_k", "brief"])]
    peer_vllm: Option<OsString>,
}

impl BenchRollout {
    pub(super) fn run(&self) -> anyhow::Result<()> {
        let model = self.setup.base()?;
        let population = self.population(&model, self.setup.members)?;
        let single = self.population(&model, 1)?;
        let size = RolloutSize {
            sequences: self.setup.sequences as i64,
            prompt: self.setup.prompt as i64,
            new: self.setup.new as i64,
        };
        let mask = VocabularyMask { seed: 1, keep_rate: KEEP_RATE, protected: Vec::new(), protected_texts: Vec::new() };
        let (mut all, mut masked) = (Spent::MAX, Spent::MAX);
        let (mut one, mut prefill) = (Spent::MAX, Spent::MAX);
        let (mut projections, mut attention) = (Spent::MAX, Spent::MAX);
        for _ in 0..self.setup.repeats {
            all = all.min(self.generate(&model, &population, self.setup.new, None)?);
            if self.brief {
                prefill = prefill.min(self.generate(&model, &population, 1, None)?);
                continue;
            }
            masked = masked.min(self.generate(&model, &population, self.setup.new, Some(&mask))?);
            one = one.min(self.generate(&model, &single, self.setup.new, None)?);
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
            (to.wall.as_secs_f64() / of.wall.as_secs_f64(), to.cpu.as_secs_f64() / of.cpu.as_secs_f64())
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
        if let (Some(python), Some(folder)) = (&self.peer_vllm, &self.setup.model) {
            let prompts =
                (0..self.setup.sequences).map(|index| Self::prompt(index, self.setup.prompt, model.config.vocab_size));
            let load = vllm::Load {
                prompts: prompts.collect(),
                adapters: (0..self.setup.sequences).map(|index| self.member(index, self.setup.members)).collect(),
                new: self.setup.new,
                rank: self.setup.rank,
                dtype: self.setup.dtype,
                repeats: self.setup.repeats,
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
        (0..length).map(|at| ((number * 31 + at * 17) as i64) % vocabulary).collect()
    }

    /// The member of a population of so many that answers a prompt.
    fn member(&self, index: usize, members: usize) -> usize {
        index * members / self.setup.sequences
    }

    fn shares_prompts(&self, device: Device) -> bool {
        let samples = if self.setup.ragged { 1 } else { self.setup.samples };
        self.share_prompts.unwrap_or(GenerationOptions::shares_prompts(device, samples))
    }

    /// Tokens generated.
    fn tokens(&self) -> usize {
        (0..self.setup.sequences).map(|index| self.setup.lengths(index).1).sum()
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
        let embedding = if config.tie_word_embeddings { 0 } else { config.vocab_size * config.hidden_size };
        // Only a few rows of an untied embedding are read.
        let read = (config.parameters() - embedding) as f64;
        let adapters = (population.parameters_per_member() * population.members() as i64) as f64;
        let steps = (self.setup.new.max(2) - 1) as f64;
        let lengths = || (0..self.setup.sequences).map(|index| self.setup.lengths(index));
        // Samples of a shared prompt read it together; ragged ones are requests of their own.
        let together = match self.shares_prompts(placement.device) && !self.setup.ragged {
            true => self.setup.samples as f64,
            false => 1.0,
        };
        // Sums over all steps, divided by their number.
        let positions = lengths().map(|(prompt, new)| new as f64 * (prompt as f64 / together + new as f64 / 2.0));
        let positions = positions.sum::<f64>() / self.setup.new as f64;
        let rows = self.tokens() as f64 / self.setup.new as f64;
        let cached = 2.0 * config.num_hidden_layers as f64 * config.key_value_size() as f64 * positions;
        let memory = bytes * (read + adapters + cached) / bandwidth;
        let of_output = (config.vocab_size * config.hidden_size) as f64;
        let of_layers = read - of_output + population.parameters_per_member() as f64;
        let products = rows * 2.0 * (of_layers + of_output) / rate;
        let step = (all.wall.saturating_sub(prefill.wall)).as_secs_f64() / steps;
        let limit = memory.max(products);
        println!("memory {:.1} GB/s, products {:.0} GFLOP/s, measured here", bandwidth / 1e9, rate / 1e9);
        println!(
            "decoding step {:.3} ms, limit {:.3} ms (memory {:.3}, products {:.3}): {:.2} of the limit's speed",
            step * 1e3,
            limit * 1e3,
            memory * 1e3,
            products * 1e3,
            limit / step
        );
        // The output projection is only needed for the last token. Ragged samples of a prompt are requests of their own.
        let of_prompt = if self.setup.ragged { 1 } else { self.setup.samples };
        let prompts = (self.setup.sequences / of_prompt) as f64;
        let prompt_tokens = lengths().map(|(prompt, _)| prompt as f64).sum::<f64>() / of_prompt as f64;
        let of_prompts = 2.0 * (prompt_tokens * of_layers + prompts * of_output) / rate;
        println!("prefill {:.3} s, limit of the products {of_prompts:.3} s", prefill.wall.as_secs_f64());
        let Some(out) = &self.setup.out else { return Ok(()) };
        let figures = json!({
            "shape": self.setup.to_string(),
            "device": format!("{:?}", placement.device),
            "dtype": self.setup.dtype,
            "members": self.setup.members,
            "sequences": self.setup.sequences,
            "samples": self.setup.samples,
            "prompt": self.setup.prompt,
            "new": self.setup.new,
            "ragged": self.setup.ragged,
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
        for dtype in ["fp32", "bf16"] {
            let mut job = self.setup.job(model, dtype);
            job["threads"] = 0.into();
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
        let population = self.setup.population(model, members)?;
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
        let (requests_of_prompt, n) = if self.setup.ragged { (self.setup.samples, 1) } else { (1, self.setup.samples) };
        let requests: Vec<_> = (0..self.setup.sequences / self.setup.samples * requests_of_prompt)
            .map(|request| {
                let first = request * n;
                let (prompt, longest) = self.setup.lengths(first);
                let number = first / self.setup.samples;
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
            max_slots: self.max_slots.unwrap_or(self.setup.sequences),
            share_prompts: self.shares_prompts(model.placement.device),
            graphs: self.graphs.unwrap_or(true),
            ..GenerationOptions::default()
        };
        let generator = Generator { model, population: Some(population), tokenizer: None };
        Ok(bench::timed(model.placement.device, || generator.generate(&requests, &options, &mut |_| ()).map(drop))?)
    }
}
