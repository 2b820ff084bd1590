//! How much is generated at the same time.

use lyceum_core::footprint::GenerationShape;
use lyceum_core::work::LoraShape;
use tch::Device;

use super::request::GenerationRequest;
use crate::device::memory;
use crate::model::Model;
use crate::population::Population;

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
        Self {
            max_slots: 256,
            prefill_tokens: 4_096,
            cache_bytes: None,
            share_prompts: false,
            graphs: true,
        }
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
            return Self {
                share_prompts: share_prompts.unwrap_or(false),
                ..Self::default()
            };
        };
        let samples = requests.iter().map(|request| request.n).max().unwrap_or(0);
        let share_prompts = share_prompts.unwrap_or(Self::shares_prompts(model.placement.device, samples));
        Self::within(memory(index), model, population, requests, share_prompts)
    }

    /// Whether prompts are shared unless told otherwise, if a request has at most so many samples.
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
        let Some(memory) = memory else {
            return Self {
                share_prompts,
                ..Self::default()
            };
        };
        let length = |request: &GenerationRequest| {
            part_of_prompt(request, share_prompts) + u64::from(request.sampling.max_tokens) / 4
        };
        let none = LoraShape {
            r: 0,
            lora_alpha: 0.0,
            target_modules: Vec::new(),
            use_rslora: false,
        };
        let shape = GenerationShape {
            members: population.map_or(0, Population::members) as u64,
            slots: MOST_SLOTS,
            length: requests.iter().map(length).max().unwrap_or(1).max(1),
            bytes: model.placement.dtype.bytes(),
        };
        let adapter = population.map_or(&none, |population| &population.shape);
        let fit = shape.fit(&model.config.base_shape(), adapter, (memory as f64 * PLANNED) as u64);
        Self {
            max_slots: fit.slots as usize,
            cache_bytes: Some(fit.cache),
            share_prompts,
            ..Self::default()
        }
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
            placement: Placement {
                device,
                dtype: Dtype::Bf16,
            },
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
            sampling: Sampling {
                max_tokens,
                ..Sampling::default()
            },
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
            let requests = [GenerationRequest {
                n,
                ..request(4000, 2000)
            }];
            GenerationOptions::within(Some(80 << 30), &model, None, &requests, shared).max_slots
        };
        let copied = slots(8, false);
        assert_eq!(slots(1, true), copied);
        // 4,500 positions a sequence, or 500 and a quarter of 4,000.
        assert!(
            (copied * 14 / 5..copied * 3).contains(&slots(8, true)),
            "{copied} {}",
            slots(8, true)
        );
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
