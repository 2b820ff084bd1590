//! The output projection and the log-probabilities over the vocabulary, a chunk of rows at a time, with their gradient.

use std::ops::Range;

use lyceum_core::footprint::{LOGITS, UpdateShape};
use lyceum_kernels::head as kernel;
use tch::{Device, Kind, Tensor};

use super::batch::MicroBatch;
use super::rows::TrainingSequence;
use super::update::UpdateOptions;
use crate::config::ModelConfig;
use crate::device::Placement;
use crate::error::{EngineError, Result};
use crate::host;
use crate::model::Model;
use crate::population::Population;
use crate::product::{add_product, write_product};

/// Derivatives of the loss with respect to the head's outputs, for each row of a chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenWeights {
    /// With respect to the log-probability of the row's target.
    pub by_logprob: Vec<f32>,
    /// With respect to the entropy of the row's distribution; `None` if the loss has no entropy term.
    pub by_entropy: Option<Vec<f32>>,
}

/// Returns the derivatives of the loss for a range of rows, given their log-probabilities and entropies.
pub type Weigh<'a> = dyn FnMut(Range<usize>, &[f32], &[f32]) -> Result<TokenWeights> + 'a;

/// Gradients that the head's backward pass adds to.
#[derive(Debug)]
pub struct HeadGradient<'a> {
    /// Gradient of the output projection `[vocab_size, hidden_size]`, fp32, if it is trained.
    pub weight: Option<&'a Tensor>,
}

/// Computes the log-probability (fp32) of each of `targets` `[C]` under normed hidden states `[C, hidden_size]` and the
/// entropy of each distribution, calls `weigh` for the derivatives of the loss with respect to both, and returns the
/// gradient of the hidden states. `weigh` is called with consecutive ranges of rows. Logits are held for `chunk` rows
/// at a time, in at most two fp32 copies.
pub fn backward_through_head(
    model: &Model,
    hidden: &Tensor,
    targets: &Tensor,
    chunk: i64,
    gradient: &HeadGradient<'_>,
    weigh: &mut Weigh<'_>,
) -> Result<Tensor> {
    let by_hidden = hidden.f_empty_like()?;
    let rows = hidden.size()[0];
    let mut start = 0;
    while start < rows {
        let count = chunk.min(rows - start);
        let inputs = hidden.f_narrow(0, start, count)?;
        let targets = targets.f_narrow(0, start, count)?;
        let logits = model.logits(&inputs)?;
        let range = start as usize..(start + count) as usize;
        let by_logits = by_logits(logits, &targets, range, weigh)?.f_to_kind(hidden.kind())?;
        write_product(&by_logits, &model.lm_head, &mut by_hidden.f_narrow(0, start, count)?)?;
        if let Some(weight) = gradient.weight {
            add_product(&by_logits.f_transpose(0, 1)?, &inputs, &mut weight.shallow_clone())?;
        }
        start += count;
    }
    Ok(by_hidden)
}

/// The gradient of the loss with respect to the logits, fp32 `[count, vocab_size]`; `range` gives these rows' indices
/// for `weigh`.
fn by_logits(mut logits: Tensor, targets: &Tensor, range: Range<usize>, weigh: &mut Weigh<'_>) -> Result<Tensor> {
    let width = logits.size()[1] as usize;
    if let (Some(numbers), Some(targets)) = (host::numbers_mut(&mut logits), host::indices(targets)) {
        let scores = kernel::scores(host::threads(), width, numbers, targets);
        let logprobs: Vec<f32> = scores.iter().map(|scores| scores.logprob).collect();
        let entropies: Vec<f32> = scores.iter().map(|scores| scores.entropy).collect();
        let TokenWeights { by_logprob, by_entropy } = weigh(range, &logprobs, &entropies)?;
        let weight = |(row, &by_logprob): (usize, &f32)| kernel::Weights {
            by_logprob,
            by_entropy: by_entropy.as_ref().map_or(0.0, |by_entropy| by_entropy[row]),
        };
        let weights: Vec<_> = by_logprob.iter().enumerate().map(weight).collect();
        kernel::gradient(host::threads(), width, numbers, targets, &scores, &weights);
        return Ok(logits);
    }
    let chosen = targets.f_unsqueeze(1)?;
    let mut probabilities = logits.f_softmax(-1, Kind::Float)?;
    // ln Σ exp z = max z − ln max p, which saves a second pass of exponentials.
    let normaliser = logits.f_amax([-1], true)?.f_sub(&probabilities.f_amax([-1], true)?.f_log()?)?;
    let logprobs = logits.f_gather(1, &chosen, false)?.f_sub(&normaliser)?;
    let mean_logit = probabilities.f_unsqueeze(1)?.f_bmm(&logits.f_unsqueeze(2)?)?.f_squeeze_dim(2)?;
    let entropies = normaliser.f_sub(&mean_logit)?;
    let weights = weigh(range, &on_host(&logprobs)?, &on_host(&entropies)?)?;
    let device = logits.device();
    let column =
        |values: &[f32]| -> Result<Tensor> { Ok(Tensor::f_from_slice(values)?.f_to_device(device)?.f_unsqueeze(1)?) };
    let by_logprob = column(&weights.by_logprob)?;
    // ∂ logprob/∂z = onehot − p and ∂ entropy/∂z = −p (ln p + entropy), with ln p = z − normaliser.
    let mut by_logits = match &weights.by_entropy {
        None => {
            drop(logits);
            probabilities.f_mul_(&by_logprob.f_neg()?)?
        }
        Some(by_entropy) => {
            let by_entropy = column(by_entropy)?;
            let constant = normaliser.f_sub(&entropies)?.f_mul(&by_entropy)?.f_sub(&by_logprob)?;
            let factor = logits.f_mul_(&by_entropy.f_neg()?)?.f_add_(&constant)?;
            probabilities.f_mul_(&factor)?
        }
    };
    Ok(by_logits.f_scatter_add_(1, &chosen, &by_logprob)?)
}

fn on_host(values: &Tensor) -> Result<Vec<f32>> {
    let values = values.f_reshape([-1])?.f_to_device(Device::Cpu)?;
    Vec::try_from(&values).map_err(EngineError::from)
}

/// Rows of logits for each of `lanes` lanes. On a GPU the rows of a chunk decide how often the output projection's weights
/// are read, so there are as many as cost no memory; the number depends only on the micro-batches, not on the GPU.
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

    use super::*;
    use crate::config::Architecture;
    use crate::learn::batch::{Pace, deal};

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
            let placement = Placement { device, dtype: Dtype::Bf16 };
            let options = UpdateOptions { logits, ..UpdateOptions::default() };
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
