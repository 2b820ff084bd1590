//! The trainer: forward, backward, clip, step.

use std::path::Path;

use lyceum_core::work::Dtype;
use lyceum_engine::config::Architecture;
use lyceum_engine::error::{EngineError, Result};
use lyceum_engine::learn::{AdamW, OptimizerState, TrainedTensor, clip_gradients};
use lyceum_engine::model::RopeTables;
use lyceum_engine::{Model, ModelConfig, Placement};
use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use super::batch::{MaskedAttention, PackedBatch};
use super::weights;
use super::weights::{mapped, named};
use crate::random::random_model;

/// A model with all parameters trained, and its optimizer.
pub struct Pretrainer {
    /// The trained weights: fp32, leaves of the autograd graph.
    weights: Model,
    /// Device, and the precision of the products.
    placement: Placement,
    rope: RopeTables,
    trained: Vec<TrainedTensor>,
    state: OptimizerState,
}

/// The result of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepReport {
    /// The weighted mean negative log-likelihood before the step, in nats.
    pub loss: f64,
    /// Norm of the gradient before it was clipped.
    pub gradient_norm: f64,
}

impl Pretrainer {
    /// Random weights (deviation 0.02, divided by √(2 · layers) where a layer writes to the residual stream, as in
    /// GPT-2) and a fresh optimizer. The same seed gives the same weights.
    pub fn new(config: ModelConfig, placement: Placement, seed: i64) -> Result<Self> {
        tch::manual_seed(seed);
        let model = random_model(config, reference(placement))?;
        let depth = (2.0 * model.layers.len() as f64).sqrt();
        for layer in &model.layers {
            for weight in [&layer.o_proj, &layer.down_proj] {
                let _ = weight.shallow_clone().f_div_scalar_(depth)?;
            }
        }
        Self::from_model(&model, placement)
    }

    /// A copy of a model's weights, and a fresh optimizer.
    pub fn from_model(model: &Model, placement: Placement) -> Result<Self> {
        if model.config.architecture == Architecture::Qwen3 {
            let reason =
                "models of Qwen3 cannot be fully trained: their heads share norms, which are stored per head here";
            return Err(EngineError::population(reason));
        }
        let weights = mapped(model, reference(placement), &|tensor| {
            let mut copy = Tensor::f_empty(tensor.size(), (Kind::Float, placement.device))?;
            copy.f_copy_(&tensor.f_detach()?)?;
            Ok(copy.f_set_requires_grad(true)?)
        })?;
        let trained = named(&weights)
            .into_iter()
            .map(|(name, tensor)| TrainedTensor::whole(name, tensor))
            .collect::<Result<Vec<_>>>()?;
        let state = OptimizerState::new(&trained)?;
        let rope = RopeTables::new(&weights.config, weights.config.max_position_embeddings, placement)?;
        Ok(Self { weights, placement, rope, trained, state })
    }

    /// The trained weights.
    pub fn model(&self) -> &Model {
        &self.weights
    }

    /// The names of the trained tensors: those of the checkpoint, except that projections with the same input are one
    /// matrix.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.trained.iter().map(|tensor| tensor.name.as_str())
    }

    /// Number of parameters.
    pub fn parameters(&self) -> usize {
        self.trained.iter().map(|tensor| tensor.values.numel()).sum()
    }

    /// Steps done so far.
    pub fn steps(&self) -> u64 {
        self.state.steps.first().copied().unwrap_or(0)
    }

    /// The weighted mean negative log-likelihood of a batch and its gradient with respect to every trained tensor, `[1,
    /// ..]` each, in the order of their names.
    pub fn gradients(&self, batch: &PackedBatch) -> Result<(f64, Vec<Tensor>)> {
        if batch.total_weight <= 0.0 {
            return Err(EngineError::request("batch", "no token has a weight, so there is nothing to learn"));
        }
        let loss = tch::with_grad(|| self.loss(batch))?;
        let leaves: Vec<&Tensor> = named(&self.weights).into_iter().map(|(_, tensor)| tensor).collect();
        let gradients = Tensor::f_run_backward(&[&loss], &leaves, false, false)?;
        let gradients = gradients.iter().map(|gradient| Ok(gradient.f_unsqueeze(0)?)).collect::<Result<Vec<_>>>()?;
        let loss = loss.f_double_value(&[])?;
        if !loss.is_finite() {
            return Err(EngineError::NonFinite { what: format!("the loss of step {}", self.steps()) });
        }
        Ok((loss, gradients))
    }

    /// One optimizer step; `max_norm` bounds the gradient's norm (0 sets no limit).
    pub fn step(&mut self, batch: &PackedBatch, optimizer: &AdamW, max_norm: f64) -> Result<StepReport> {
        let (loss, gradients) = self.gradients(batch)?;
        let _no_grad = tch::no_grad_guard();
        let norms = clip_gradients(&self.trained, &gradients, &[0], max_norm)?;
        optimizer.step(&self.trained, &gradients, &[0], &mut self.state)?;
        Ok(StepReport { loss, gradient_norm: norms.first().copied().unwrap_or(0.0) })
    }

    fn loss(&self, batch: &PackedBatch) -> Result<Tensor> {
        let kind = self.placement.kind();
        let model = mapped(&self.weights, self.placement, &|tensor| Ok(tensor.f_to_kind(kind)?))?;
        let rope = self.rope.first(batch.longest)?.gathered(&batch.positions)?;
        let attention = MaskedAttention { mask: &batch.mask };
        let hidden = model.forward(&batch.ids, &rope, None, &attention)?;
        let rows = hidden.f_view([-1, model.config.hidden_size])?;
        // An embedding look-up: unlike `index_select`, its gradient is fast on the CPU and deterministic on a GPU.
        let rows = Tensor::f_embedding(&rows, &batch.predicting, -1, false, false)?;
        let logprobs = model.logits(&model.final_norm(&rows)?)?.f_log_softmax(-1, Kind::Float)?;
        let chosen = logprobs.f_gather(1, &batch.targets.f_unsqueeze(1)?, false)?.f_squeeze_dim(1)?;
        Ok(chosen.f_dot(&batch.weights)?.f_div_scalar(-batch.total_weight)?)
    }

    /// Writes weights and optimizer into a folder.
    pub fn save(&self, folder: &Path) -> Result<()> {
        weights::save(&self.trained, &self.state, folder)
    }

    /// Continues from the output of [`Pretrainer::save`], with the same configuration.
    pub fn resume(config: ModelConfig, placement: Placement, folder: &Path) -> Result<Self> {
        let mut trainer = Self::from_model(&random_model(config, reference(placement))?, placement)?;
        trainer.state = weights::restore(&trainer.trained, folder)?;
        Ok(trainer)
    }
}

/// Placement of the trained weights: fp32 on the same device.
fn reference(placement: Placement) -> Placement {
    Placement { dtype: Dtype::Fp32, ..placement }
}

/// Linear warm-up, a plateau, and a linear decay to zero over the last steps (Hu et al. 2024, arXiv 2404.06395, section
/// 4.1). Before the decay, the step size does not depend on the total number of steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The step size of the plateau.
    pub learning_rate: f64,
    /// Steps of the warm-up.
    pub warmup_steps: u64,
    pub decay_steps: u64,
}

impl Schedule {
    /// The step size at step `step` (from 0) of `steps`.
    pub fn at(&self, step: u64, steps: u64) -> f64 {
        let rising = (step + 1) as f64 / self.warmup_steps.max(1) as f64;
        let falling = steps.saturating_sub(step) as f64 / (self.decay_steps + 1) as f64;
        self.learning_rate * rising.min(falling).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;

    #[test]
    fn it_rises_stays_and_falls() {
        let schedule = Schedule { learning_rate: 2.0, warmup_steps: 4, decay_steps: 3 };
        let rates: Vec<f64> = (0..10).map(|step| schedule.at(step, 10)).collect();
        assert_eq!(rates, [0.5, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0, 1.5, 1.0, 0.5]);
        assert_eq!(schedule.at(5, 100), 2.0);
    }
}
