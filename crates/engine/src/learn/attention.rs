//! Attention of a micro-batch whose sequences may share prompts; the one part of a layer whose gradient is libtorch's own.

use tch::Tensor;

use super::layout::Packing;
use crate::config::ModelConfig;
use crate::error::Result;
use crate::model::{Attend, CausalAttention, LayerWeights, RopeTables, rotated_heads};

/// From the joint projection `[T, query_size + 2 · key_value_size]` to the attended values `[T, query_size]`.
pub(super) fn attend(
    config: &ModelConfig,
    weights: &LayerWeights,
    qkv: &Tensor,
    rope: &RopeTables,
    packing: &Packing,
) -> Result<Tensor> {
    let padded = match &packing.indices {
        // An embedding look-up: unlike that of `index_select`, its gradient is quick on the CPU and deterministic on a GPU.
        Some(indices) => Tensor::f_embedding(qkv, &indices.gather, -1, false, false)?,
        None => qkv.shallow_clone(),
    };
    let padded = padded.f_view([packing.sequences, packing.length, -1])?;
    let (query, key, value) = rotated_heads(config, weights, &padded, rope)?;
    let attended = CausalAttention
        .attend(0, &query, &key, &value)?
        .f_view([-1, config.query_size()])?;
    Ok(match &packing.indices {
        Some(indices) => Tensor::f_embedding(&attended, &indices.scatter, -1, false, false)?,
        None => attended,
    })
}

/// A run of [`attend`] that its gradient can be asked of.
#[derive(Debug)]
pub(super) struct AttentionTape {
    qkv: Tensor,
    attended: Tensor,
}

impl AttentionTape {
    /// Attends and keeps what the gradient needs.
    pub(super) fn record(
        config: &ModelConfig,
        weights: &LayerWeights,
        qkv: &Tensor,
        rope: &RopeTables,
        packing: &Packing,
    ) -> Result<Self> {
        let qkv = qkv.f_detach()?.f_set_requires_grad(true)?;
        let attended = tch::with_grad(|| attend(config, weights, &qkv, rope, packing))?;
        Ok(Self { qkv, attended })
    }

    /// The attended values, `[T, query_size]`.
    pub(super) fn attended(&self) -> Result<Tensor> {
        Ok(self.attended.f_detach()?)
    }

    /// The gradient of the joint projection, given that of the attended values.
    pub(super) fn backward(self, gradient: &Tensor) -> Result<Tensor> {
        // The sum's own value is of no use; its gradient is `gradient`.
        let scalar = tch::with_grad(|| self.attended.f_mul(gradient)?.f_sum(gradient.kind()))?;
        let mut gradients = Tensor::f_run_backward(&[scalar], &[self.qkv], false, false)?;
        Ok(gradients.swap_remove(0))
    }
}
