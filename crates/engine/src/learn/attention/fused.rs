//! libtorch's fused attention: the only part of a layer whose gradient libtorch computes.

use tch::Tensor;

use super::super::layout::Bucket;
use super::Attention;
use crate::error::Result;
use crate::model::{Attend, CausalAttention, LayerWeights, RopeTables, rotated_heads};

/// See [`Attention::attend`].
pub(super) fn attend(attention: &Attention<'_>, weights: &LayerWeights, qkv: &Tensor) -> Result<Tensor> {
    let Attention { config, rope, packing } = attention;
    let padded = match &packing.indices {
        // An embedding look-up: unlike `index_select`, its gradient is fast on the CPU and deterministic on a GPU.
        Some(indices) => Tensor::f_embedding(qkv, &indices.gather, -1, false, false)?,
        None => qkv.shallow_clone(),
    };
    let attend = |padded: &Tensor, rope: &RopeTables, bucket: &Bucket| -> Result<Tensor> {
        let padded = padded.f_view([bucket.sequences, bucket.length, -1])?;
        let (query, key, value) = rotated_heads(config, weights, &padded, rope)?;
        let attended = CausalAttention.attend(0, &query, &key, &value)?;
        Ok(attended.f_view([-1, config.query_size()])?)
    };
    let attended = match packing.buckets.as_slice() {
        [all] => attend(&padded, rope, all)?,
        buckets => {
            let sizes: Vec<i64> = buckets.iter().map(|bucket| bucket.sequences * bucket.length).collect();
            // Split rather than sliced: the gradient is one concatenation.
            let parts = padded.f_split_with_sizes(sizes, 0)?;
            let attended = parts
                .iter()
                .zip(buckets)
                .map(|(part, bucket)| attend(part, &rope.first(bucket.length)?, bucket))
                .collect::<Result<Vec<_>>>()?;
            Tensor::f_cat(&attended, 0)?
        }
    };
    Ok(match &packing.indices {
        Some(indices) => Tensor::f_embedding(&attended, &indices.scatter, -1, false, false)?,
        None => attended,
    })
}

/// A run of [`attend`] with libtorch's record of it.
#[derive(Debug)]
pub(in crate::learn) struct FusedTape {
    qkv: Tensor,
    attended: Tensor,
}

impl FusedTape {
    pub(super) fn record(attention: &Attention<'_>, weights: &LayerWeights, qkv: &Tensor) -> Result<Self> {
        let qkv = qkv.f_detach()?.f_set_requires_grad(true)?;
        let attended = tch::with_grad(|| attend(attention, weights, &qkv))?;
        Ok(Self { qkv, attended })
    }

    pub(super) fn attended(&self) -> Result<Tensor> {
        Ok(self.attended.f_detach()?)
    }

    pub(super) fn backward(self, gradient: &Tensor) -> Result<Tensor> {
        // The sum itself is unused; its gradient is `gradient`.
        let scalar = tch::with_grad(|| self.attended.f_mul(gradient)?.f_sum(gradient.kind()))?;
        let mut gradients = Tensor::f_run_backward(&[scalar], &[self.qkv], false, false)?;
        Ok(gradients.swap_remove(0))
    }
}
