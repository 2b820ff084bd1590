//! How many rows of logits an update holds at a time.

use lyceum_core::footprint::{LOGITS, UpdateShape};
use tch::Device;

use super::batch::MicroBatch;
use super::sequence::TrainingSequence;
use super::update::UpdateOptions;
use crate::config::ModelConfig;
use crate::device::Placement;
use crate::population::Population;

/// Rows of logits for each of `lanes` lanes. On a GPU the rows of a chunk decide how often the output projection's weights
/// are read, so there are as many as cost no memory; the number depends on the micro-batches alone, not on the GPU.
pub(super) fn rows(
    options: &UpdateOptions,
    (config, placement): (&ModelConfig, Placement),
    population: &Population,
    shape: impl FnOnce() -> UpdateShape,
    lanes: usize,
) -> i64 {
    let logits = match (options.logits, placement.device) {
        (Some(logits), _) => logits as u64,
        (None, Device::Cpu) => LOGITS,
        (None, _) => shape().logits_below_the_peak(&config.base_shape(), &population.shape),
    };
    ((logits / lanes.max(1) as u64) as i64 / config.vocab_size).max(1)
}

/// The largest of these micro-batches, as the memory formula sees it.
pub(super) fn shape(
    options: &UpdateOptions,
    placement: Placement,
    population: &Population,
    batches: &[MicroBatch],
    sequences: &[Vec<TrainingSequence>],
) -> UpdateShape {
    let most = |of: fn(&MicroBatch, &[Vec<TrainingSequence>]) -> usize| {
        batches.iter().map(|batch| of(batch, sequences)).max().unwrap_or(0) as u64
    };
    let rows = most(|batch, _| batch.rows());
    UpdateShape {
        members: population.members() as u64,
        rows,
        together: most(|batch, _| batch.lanes.len()),
        references: 0,
        places: rows,
        longest: rows,
        learned: most(MicroBatch::learned),
        logits: LOGITS,
        bytes: placement.dtype.bytes(),
        recompute: options.recompute,
        own_loops: false,
    }
}

#[cfg(test)]
mod tests {
    use lyceum_core::work::{Dtype, LoraShape, Projection};

    use super::super::batch::{Pace, deal};
    use super::*;
    use crate::config::Architecture;

    fn config() -> ModelConfig {
        ModelConfig {
            architecture: Architecture::Qwen2,
            vocab_size: 152_064,
            hidden_size: 64,
            intermediate_size: 18_944,
            num_hidden_layers: 1,
            num_attention_heads: 1,
            num_key_value_heads: 1,
            head_dim: 64,
            max_position_embeddings: 1024,
            rms_norm_eps: 1e-6,
            rope_theta: 1e4,
            rope_scaling: None,
            tie_word_embeddings: true,
            attention_bias: true,
            eos_token_ids: Vec::new(),
            pad_token_id: None,
        }
    }

    #[test]
    fn a_gpu_holds_as_many_rows_as_cost_nothing_and_a_cpu_always_the_same() {
        let config = config();
        let lora = LoraShape::new(4, 8.0, false, vec![Projection::Q]).unwrap();
        let population = Population::initialise(&config, lora, 2, 1, Device::Cpu).unwrap();
        let sequence = TrainingSequence {
            id: String::new(),
            prompt: vec![1; 2048],
            completion: vec![1; 2048],
            logprobs: Vec::new(),
            advantage: 0.0,
        };
        let sequences = vec![vec![sequence; 4]; 2];
        let work = [(0, 0..4), (1, 0..4)];
        let batches = deal(&work, &sequences, 16_384, false, Pace::Together, usize::MAX);
        let rows_on = |device, logits, lanes| {
            let placement = Placement {
                device,
                dtype: Dtype::Bf16,
            };
            let options = UpdateOptions {
                logits,
                ..UpdateOptions::default()
            };
            let shape = || shape(&options, placement, &population, &batches, &sequences);
            rows(&options, (&config, placement), &population, shape, lanes)
        };
        let gpu = rows_on(Device::Cuda(0), None, 1);
        assert!(gpu > 8 * rows_on(Device::Cpu, None, 1), "{gpu} rows");
        assert_eq!(rows_on(Device::Cpu, None, 1), (1 << 24) / 152_064);
        assert_eq!(rows_on(Device::Cpu, None, 2), (1 << 23) / 152_064);
        assert_eq!(rows_on(Device::Cuda(0), Some(1 << 24), 1), (1 << 24) / 152_064);
        assert_eq!(rows_on(Device::Cuda(0), Some(1), 1), 1);
    }
}
