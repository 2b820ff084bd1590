//! Requests to generation, how much is generated at the same time, and results.

use lyceum_core::footprint::GenerationShape;
use lyceum_core::work::{FinishReason, LoraShape, Sampling};
use serde::Serialize;
use tch::Device;

use crate::device::memory;
use crate::error::{EngineError, Result};
use crate::model::Model;
use crate::population::Population;
use crate::tokenizer::Tokenizer;

/// Sequences in flight at most, however much memory there is: with more, a step's products are limited by arithmetic on any
/// GPU, so that nothing is won.
const MOST_SLOTS: u64 = 1024;

/// The share of a GPU's memory that is planned with; the rest is for CUDA itself, prompts while they pass through the
/// layers, and gaps between allocations.
const PLANNED: f64 = 0.85;

/// Generation options. They help determine the result to the last bit.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationOptions {
    /// Sequences decoded at the same time.
    pub max_slots: usize,
    /// Prompt tokens per prefill pass, padding included.
    pub prefill_tokens: usize,
    /// Memory limit in bytes for keys and values; `None` leaves the limit to the device. Exceeding it counts as running
    /// out of memory.
    pub cache_bytes: Option<u64>,
    /// Whether the keys and values of a prompt are held once for all its samples, instead of once for each.
    pub share_prompts: bool,
    /// Whether a GPU is asked for a whole step at a time, as a CUDA graph. The numbers are the same.
    pub graphs: bool,
}

impl Default for GenerationOptions {
    fn default() -> Self {
        Self { max_slots: 256, prefill_tokens: 4_096, cache_bytes: None, share_prompts: false, graphs: true }
    }
}

impl GenerationOptions {
    /// On a CPU the default. On a GPU as many sequences in flight as have room in the memory
    /// that was free when it was chosen, or in less ([`limit_memory`](crate::device::limit_memory)). `share_prompts`, if given, is
    /// taken as it is; otherwise prompts are shared on a GPU if any request has several samples.
    pub fn fitting(
        model: &Model,
        population: Option<&Population>,
        requests: &[GenerationRequest],
        share_prompts: Option<bool>,
    ) -> Self {
        let Device::Cuda(index) = model.placement.device else {
            return Self { share_prompts: share_prompts.unwrap_or(false), ..Self::default() };
        };
        let samples = requests.iter().map(|request| request.n).max().unwrap_or(0);
        let share_prompts = share_prompts.unwrap_or(Self::shares_prompts(model.placement.device, samples));
        Self::within(memory(index), model, population, requests, share_prompts)
    }

    /// Whether prompts are shared unless told otherwise, if a request has at most this number of samples.
    pub fn shares_prompts(device: Device, samples: usize) -> bool {
        device.is_cuda() && samples > 1
    }

    /// As many sequences as have room in this much memory; the default if it is not known. Completions are taken to fill a
    /// quarter of their limit: most are much shorter, and when many are not, fewer of them go on at the same time.
    fn within(
        memory: Option<u64>,
        model: &Model,
        population: Option<&Population>,
        requests: &[GenerationRequest],
        share_prompts: bool,
    ) -> Self {
        let Some(memory) = memory else { return Self { share_prompts, ..Self::default() } };
        let length = |request: &GenerationRequest| {
            part_of_prompt(request, share_prompts) + u64::from(request.sampling.max_tokens) / 4
        };
        let none = LoraShape { r: 0, lora_alpha: 0.0, target_modules: Vec::new(), use_rslora: false };
        let shape = GenerationShape {
            members: population.map_or(0, Population::members) as u64,
            slots: MOST_SLOTS,
            length: requests.iter().map(length).max().unwrap_or(1).max(1),
            bytes: model.placement.dtype.bytes(),
        };
        let adapter = population.map_or(&none, |population| &population.shape);
        let fit = shape.fit(&model.config.base_shape(), adapter, (memory as f64 * PLANNED) as u64);
        Self { max_slots: fit.slots as usize, cache_bytes: Some(fit.cache), share_prompts, ..Self::default() }
    }
}

/// Positions of a request's prompt for each of its sequences in flight. A shared prompt is held until its last sample has
/// ended, so on average only half of its samples are taken to be in flight.
fn part_of_prompt(request: &GenerationRequest, shared: bool) -> u64 {
    let prompt = request.prompt.len() as u64;
    if !shared {
        return prompt;
    }
    (2 * prompt).div_ceil(request.n.max(1) as u64).min(prompt)
}

/// A prompt and how to continue it.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationRequest {
    /// Returned with the result.
    pub id: String,
    /// Token ids of the prompt; at least one.
    pub prompt: Vec<i64>,
    /// Index of the adapter in the population; `None` is the base without adapters.
    pub adapter: Option<usize>,
    /// Completions to sample; with 0 the request is only checked.
    pub n: usize,
    /// How tokens are sampled and what ends a completion. All requests of a batch must have the same vocabulary mask.
    ///
    /// Temperature, top-k and top-p apply in this order. Temperatures below 1e-5 are raised to it, except 0, which takes
    /// the most probable token. top-k and top-p also keep ties with the last token they keep. The completion's text ends
    /// before the first stop string, its ids with the token that completed the string or with the stop id.
    pub sampling: Sampling,
    /// Sampling depends only on this seed, the sample's index among the `n`, and the position.
    pub seed: u64,
}

/// One sampled continuation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Completion {
    /// The generated ids, including the one that ended the completion.
    pub ids: Vec<i64>,
    /// Their text without special tokens, cut before a stop string; `None` without a tokenizer.
    pub text: Option<String>,
    /// Why it ended.
    pub finish_reason: FinishReason,
    /// Log-probability of each id under the model itself: temperature 1, no mask, no truncation.
    pub logprobs: Vec<f32>,
    /// Log-probability of each id under the distribution it was drawn from (0 for greedy decoding).
    pub sampling_logprobs: Vec<f32>,
    /// Mean entropy of the model itself over the positions of `ids`, in nats.
    pub entropy: f32,
}

/// The completions of one request, in order of their sample index.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GenerationResult {
    /// The request's id.
    pub id: String,
    /// Its `n` completions.
    pub completions: Vec<Completion>,
}

impl GenerationRequest {
    /// The result without a completion.
    pub(super) fn unsampled(&self) -> GenerationResult {
        GenerationResult { id: self.id.clone(), completions: Vec::new() }
    }

    /// Tokens of the prompt and of the longest possible completion.
    pub(super) fn most_tokens(&self) -> usize {
        self.prompt.len() + self.sampling.max_tokens as usize
    }

    /// Refuses an invalid request.
    pub(super) fn check(&self, model: &Model, members: usize) -> Result<()> {
        let refuse = |reason: String| Err(EngineError::request(&self.id, reason));
        let (vocabulary, longest) = (model.config.vocab_size, model.config.max_position_embeddings);
        if self.prompt.is_empty() {
            return refuse("the prompt has no tokens; at least one is needed".into());
        }
        if let Some(id) = self.prompt.iter().find(|&&id| id < 0 || id >= vocabulary) {
            return refuse(format!("prompt id {id} is outside the vocabulary of {vocabulary}"));
        }
        let Sampling { temperature, top_p, max_tokens, stop, .. } = &self.sampling;
        if *max_tokens == 0 {
            return refuse("`max_tokens` is 0; it must be positive".into());
        }
        let total = self.most_tokens();
        if total as i64 > longest {
            return refuse(format!(
                "{} prompt tokens and `max_tokens` {max_tokens} add up to {total}; the model's longest sequence is {longest}",
                self.prompt.len()
            ));
        }
        if let Some(adapter) = self.adapter.filter(|&adapter| adapter >= members) {
            return refuse(format!("adapter {adapter} does not exist; there are {members}"));
        }
        if !(*temperature >= 0.0 && temperature.is_finite()) {
            return refuse(format!("`temperature` is {temperature}; it must be 0 (greedy) or a positive number"));
        }
        if !(*top_p > 0.0 && *top_p <= 1.0) {
            return refuse(format!("`top_p` is {top_p}; it must be above 0 and at most 1"));
        }
        if stop.iter().any(String::is_empty) {
            return refuse("a stop string is empty".into());
        }
        Ok(())
    }
}

/// The stop conditions of one request, resolved.
#[derive(Debug)]
pub(super) struct Stop {
    ids: Vec<i64>,
    strings: Vec<String>,
    /// Number of trailing tokens that can hold the longest stop string.
    window: usize,
    max_tokens: usize,
}

impl Stop {
    pub(super) fn new(request: &GenerationRequest, model: &Model, tokenizer: Option<&Tokenizer>) -> Result<Self> {
        let Sampling { max_tokens, stop, stop_token_ids, ignore_eos, .. } = &request.sampling;
        let mut ids: Vec<i64> = stop_token_ids.iter().map(|&id| i64::from(id)).collect();
        if !ignore_eos {
            ids.extend(&model.config.eos_token_ids);
        }
        if !stop.is_empty() && tokenizer.is_none() {
            return Err(EngineError::request(&request.id, "stop strings need the model's tokenizer.json"));
        }
        let longest = stop.iter().map(String::len).max().unwrap_or(0);
        // A token that yields text has at least one byte; a few more tokens allow for special tokens in between.
        Ok(Self { ids, strings: stop.clone(), window: longest + 8, max_tokens: *max_tokens as usize })
    }

    /// The reason to end the completion after its newest id, if any.
    pub(super) fn reason(&self, ids: &[i64], tokenizer: Option<&Tokenizer>) -> Result<Option<FinishReason>> {
        if ids.last().is_some_and(|last| self.ids.contains(last)) {
            return Ok(Some(FinishReason::Stop));
        }
        if let (Some(tokenizer), false) = (tokenizer, self.strings.is_empty()) {
            let tail = tokenizer.decode(&ids[ids.len().saturating_sub(self.window)..])?;
            if self.strings.iter().any(|stop| tail.contains(stop.as_str())) {
                return Ok(Some(FinishReason::Stop));
            }
        }
        Ok((ids.len() >= self.max_tokens).then_some(FinishReason::Length))
    }

    /// The completion's text, cut before the first stop string.
    pub(super) fn text(&self, ids: &[i64], tokenizer: &Tokenizer) -> Result<String> {
        Ok(tokenizer.decode_until(ids, &self.strings)?)
    }
}

#[cfg(test)]
mod tests {
    use lyceum_core::work::{Dtype, Sampling};
    use tch::{Kind, Tensor};

    use super::*;
    use crate::config::{Architecture, ModelConfig};
    use crate::device::Placement;

    /// Sizes of Qwen2.5-7B without its weights.
    fn model(device: Device) -> Model {
        let nothing = || Tensor::empty([0], (Kind::Float, Device::Cpu));
        Model {
            config: ModelConfig {
                architecture: Architecture::Qwen2,
                vocab_size: 152_064,
                hidden_size: 3584,
                intermediate_size: 18_944,
                num_hidden_layers: 28,
                num_attention_heads: 28,
                num_key_value_heads: 4,
                head_dim: 128,
                max_position_embeddings: 32_768,
                rms_norm_eps: 1e-6,
                rope_theta: 1e6,
                rope_scaling: None,
                tie_word_embeddings: false,
                attention_bias: true,
                eos_token_ids: Vec::new(),
                pad_token_id: None,
            },
            placement: Placement { device, dtype: Dtype::Bf16 },
            embed_tokens: nothing(),
            layers: Vec::new(),
            norm: nothing(),
            lm_head: nothing(),
        }
    }

    fn request(prompt: usize, max_tokens: u32) -> GenerationRequest {
        GenerationRequest {
            id: String::new(),
            prompt: vec![1; prompt],
            adapter: None,
            n: 1,
            sampling: Sampling { max_tokens, ..Sampling::default() },
            seed: 0,
        }
    }

    #[test]
    fn slots_follow_the_memory_and_the_lengths() {
        let model = model(Device::Cuda(0));
        let within = |gib: u64, prompt, max_tokens| {
            GenerationOptions::within(
                Some(gib << 30),
                &model,
                None,
                &[request(prompt, max_tokens), request(1, 1)],
                false,
            )
        };
        let large = within(80, 1000, 8000);
        // 56 KiB a token, 3,000 tokens, and 3.5 MiB of logits: 168 MiB a sequence.
        assert!((300..400).contains(&large.max_slots), "{large:?}");
        assert!(large.cache_bytes.unwrap() > large.max_slots as u64 * 3000 * 57_344);
        assert!(large.cache_bytes.unwrap() < 80 << 30);
        assert!(within(24, 1000, 8000).max_slots < 50);
        assert!(within(80, 4000, 8000).max_slots < large.max_slots);
        assert_eq!(within(80, 10, 40).max_slots, 1024);
        assert_eq!(within(8, 1000, 8000).max_slots, 1);
    }

    #[test]
    fn shared_prompts_make_room_for_more_slots() {
        let model = model(Device::Cuda(0));
        let slots = |n, shared| {
            let requests = [GenerationRequest { n, ..request(4000, 2000) }];
            GenerationOptions::within(Some(80 << 30), &model, None, &requests, shared).max_slots
        };
        let copied = slots(8, false);
        assert_eq!(slots(1, true), copied);
        // 4,500 positions a sequence, or 500 and a quarter of 4,000.
        assert!((copied * 14 / 5..copied * 3).contains(&slots(8, true)), "{copied} {}", slots(8, true));
        assert!(slots(2, true) == copied && slots(64, true) > slots(8, true));
    }

    #[test]
    fn a_cpu_and_a_gpu_of_unknown_memory_have_the_default() {
        let requests = [request(1000, 8000)];
        let cpu = GenerationOptions::fitting(&model(Device::Cpu), None, &requests, None);
        assert_eq!(cpu, GenerationOptions::default());
        let unknown = GenerationOptions::within(None, &model(Device::Cuda(0)), None, &requests, false);
        assert_eq!(unknown, GenerationOptions::default());
    }
}
