//! `rollout`: completes prompts from a file.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use lyceum_core::work::{Sampling, VocabularyMask};
use lyceum_engine::generate::{GenerationEvent, GenerationOptions, GenerationRequest, Generator};
use lyceum_engine::tokenizer::Tokenizer;
use lyceum_worker::lines::{read_lines, write_lines};
use lyceum_worker::progress::progress_bar;
use serde::Deserialize;

use super::loading::ModelArgs;

/// Complete prompts: one JSON object per line in, one per line out, in the same order.
///
/// A request: {"id": "a", "prompt": "def f(", "adapter": 0, "n": 4, "max_tokens": 64, "temperature": 0.8, "top_p":
/// 0.95, "top_k": 0, "seed": 1, "stop": ["\n\n"], "stop_ids": [], "ignore_eos": false}. `ids` (token ids) can replace
/// `prompt`; one of the two is required, everything else has a default. `adapter` is the index of an --adapter; without
/// it the base is used without one. Temperature 0 is greedy.
///
/// A result: {"id": "a", "completions": [{"ids": [..], "text": "..", "finish_reason": "stop", "logprobs": [..],
/// "sampling_logprobs": [..], "entropy": 1.2}]}. `logprobs` are under the model itself, `sampling_logprobs` under the
/// distribution that the ids were drawn from; `entropy` is the mean entropy of the model along the ids, in nats.
#[derive(Debug, Args)]
pub(crate) struct Rollout {
    #[command(flatten)]
    model: ModelArgs,
    /// File of requests.
    #[arg(long = "in", value_name = "FILE")]
    input: PathBuf,
    /// File for the results.
    #[arg(long = "out", value_name = "FILE")]
    output: PathBuf,
    /// Sequences to decode at the same time. Left out: 256 on a CPU, on a GPU as many as have room in its memory.
    #[arg(long)]
    max_slots: Option<usize>,
    /// Prompt tokens per prefill pass, including padding.
    #[arg(long, default_value_t = 4_096)]
    prefill_tokens: usize,
    /// Maximum bytes for keys and values; above that the batch is halved. Left out: none on a CPU, on a GPU what is left of
    /// its memory.
    #[arg(long)]
    cache_bytes: Option<u64>,
    /// Whether a prompt's keys and values are held once for all its samples. Left out: on a GPU if a request has several.
    #[arg(long, value_name = "BOOL")]
    share_prompts: Option<bool>,
    /// Whether a GPU is asked for a whole step at a time, as a CUDA graph, instead of kernel by kernel; the results are the same.
    /// Left out: true.
    #[arg(long, value_name = "BOOL")]
    graphs: Option<bool>,
    /// Share of the vocabulary to exclude for this batch (vocabulary dropout).
    #[arg(long, requires = "mask_seed")]
    mask_rate: Option<f64>,
    /// Seed for the ids to drop.
    #[arg(long, requires = "mask_rate")]
    mask_seed: Option<u64>,
    /// Ids to keep always.
    #[arg(long, value_delimiter = ',', requires = "mask_rate")]
    mask_protected: Vec<u32>,
    /// Text whose tokens to keep always, such as `</question>`; repeatable.
    #[arg(long, value_name = "TEXT", requires = "mask_rate")]
    mask_protected_text: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    id: String,
    prompt: Option<String>,
    ids: Option<Vec<i64>>,
    adapter: Option<usize>,
    #[serde(default = "one")]
    n: usize,
    #[serde(default = "default_max_tokens")]
    max_tokens: u32,
    #[serde(default = "default_temperature")]
    temperature: f64,
    #[serde(default)]
    top_k: u32,
    #[serde(default = "default_top_p")]
    top_p: f64,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    stop: Vec<String>,
    #[serde(default)]
    stop_ids: Vec<u32>,
    #[serde(default)]
    ignore_eos: bool,
}

fn one() -> usize {
    1
}

fn default_max_tokens() -> u32 {
    64
}

fn default_temperature() -> f64 {
    1.0
}

fn default_top_p() -> f64 {
    1.0
}

impl Rollout {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let requests: Vec<Request> = read_lines(&self.input)?;
        let folder = self.model.folder()?;
        let loaded = self.model.load()?;
        let tokenizer = tokenizer(&folder, &loaded.model)?;
        let mask = self.mask_rate.zip(self.mask_seed).map(|(rate, seed)| VocabularyMask {
            seed,
            keep_rate: 1.0 - rate,
            protected: self.mask_protected,
            protected_texts: self.mask_protected_text,
        });
        let requests = requests
            .into_iter()
            .map(|request| request.resolve(tokenizer.as_ref(), mask.clone()))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let population = loaded.population.as_ref();
        let fitting = GenerationOptions::fitting(&loaded.model, population, &requests, self.share_prompts);
        let options = GenerationOptions {
            max_slots: self.max_slots.unwrap_or(fitting.max_slots),
            prefill_tokens: self.prefill_tokens,
            cache_bytes: self.cache_bytes.or(fitting.cache_bytes),
            share_prompts: fitting.share_prompts,
            graphs: self.graphs.unwrap_or(true),
        };
        let generator = Generator { model: &loaded.model, population, tokenizer: tokenizer.as_ref() };
        let bar = progress_bar(requests.iter().map(|request| request.n as u64).sum(), "completions");
        let generated = generator.generate(&requests, &options, &mut |event| match event {
            GenerationEvent::Progress { finished, tokens, .. } => {
                bar.set_position(finished as u64);
                bar.set_message(format!("{tokens} tokens"));
            }
            GenerationEvent::Finished(_) => {}
            GenerationEvent::Halved { slots } => {
                // The bar's output is discarded if stderr is not a terminal.
                bar.suspend(|| eprintln!("out of memory: going on with {slots} slots"));
            }
        })?;
        bar.finish_and_clear();
        write_lines(&self.output, &generated.results)
    }
}

/// Without a tokenizer, only requests with ids are possible.
fn tokenizer(folder: &Path, model: &lyceum_engine::Model) -> anyhow::Result<Option<Tokenizer>> {
    if !folder.join("tokenizer.json").exists() {
        return Ok(None);
    }
    Ok(Some(Tokenizer::load(folder, &model.config)?))
}

impl Request {
    fn resolve(
        self,
        tokenizer: Option<&Tokenizer>,
        vocabulary_mask: Option<VocabularyMask>,
    ) -> anyhow::Result<GenerationRequest> {
        let prompt = match (self.prompt, self.ids) {
            (None, Some(ids)) => ids,
            (Some(text), None) => tokenizer
                .with_context(|| format!("request `{}` has a `prompt`, but the model has no tokenizer.json", self.id))?
                .encode(&text)?,
            _ => anyhow::bail!("request `{}` needs either `prompt` or `ids`", self.id),
        };
        Ok(GenerationRequest {
            id: self.id,
            prompt,
            adapter: self.adapter,
            n: self.n,
            sampling: Sampling {
                temperature: self.temperature,
                top_p: self.top_p,
                top_k: self.top_k,
                max_tokens: self.max_tokens,
                stop: self.stop,
                stop_token_ids: self.stop_ids,
                ignore_eos: self.ignore_eos,
                vocabulary_mask,
            },
            seed: self.seed,
        })
    }
}
