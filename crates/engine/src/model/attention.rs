//! Grouped-query attention: cutting the joint projection into heads, attention within a batch of whole sequences, and the rotary
//! position embedding (Su et al. 2021), in the half-split form used by the checkpoints.

use std::f64::consts::PI;

use lyceum_kernels::attention::Rotation;
use tch::{Kind, Tensor};

use super::layer::LayerWeights;
use crate::config::{Llama3Rope, ModelConfig};
use crate::device::Placement;
use crate::error::Result;
use crate::host;

/// Attention of queries to keys and values: within the batch ([`CausalAttention`]) or through a cache.
pub trait Attend {
    /// `query` `[sequences, length, heads, head_dim]`, `key` and `value` `[sequences, length, kv_heads, head_dim]`,
    /// rotated. Returns `[sequences, ..]`, with the `[length, heads, head_dim]` of each sequence in any shape and layout.
    fn attend(&self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor>;
}

/// Each token attends to itself and earlier tokens of its own sequence. Right padding needs no mask: no real token sees
/// it.
#[derive(Debug, Clone, Copy)]
pub struct CausalAttention;

impl Attend for CausalAttention {
    fn attend(&self, _layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        let heads = query.size()[2];
        let grouped = heads != key.size()[2];
        // libtorch's fused attention for fp32 on a GPU takes no grouped heads; what it would fall back to holds all scores.
        let repeats = grouped && query.device().is_cuda() && query.kind() == Kind::Float;
        let attend = |key: &Tensor, value: &Tensor| {
            Tensor::f_scaled_dot_product_attention(
                &query.f_transpose(1, 2)?,
                &key.f_transpose(1, 2)?,
                &value.f_transpose(1, 2)?,
                None::<&Tensor>,
                0.0,
                true,
                None,
                grouped && !repeats,
            )
        };
        let attended =
            if repeats { attend(&repeated(key, heads)?, &repeated(value, heads)?)? } else { attend(key, value)? };
        Ok(attended.f_transpose(1, 2)?)
    }
}

/// Keys or values `[sequences, length, kv_heads, head_dim]`, once for each of the `heads` that share them.
fn repeated(shared: &Tensor, heads: i64) -> Result<Tensor> {
    let (sequences, length, kv_heads, head_dim) = shared.size4()?;
    let all = [sequences, length, kv_heads, heads / kv_heads, head_dim];
    let repeated = shared.f_unsqueeze(3)?.f_expand(all, false)?;
    Ok(repeated.f_reshape([sequences, length, heads, head_dim])?)
}

/// Cuts the joint projection `[sequences, length, query_size + 2 · key_value_size]` into normed and rotated queries
/// `[sequences, length, heads, head_dim]`, keys and values `[sequences, length, kv_heads, head_dim]`.
pub(crate) fn rotated_heads(
    config: &ModelConfig,
    weights: &LayerWeights,
    qkv: &Tensor,
    rope: &RopeTables,
) -> Result<(Tensor, Tensor, Tensor)> {
    let (sequences, length, _) = qkv.size3()?;
    let (heads, kv_heads) = (config.num_attention_heads, config.num_key_value_heads);
    let qkv = qkv.f_view([sequences, length, heads + 2 * kv_heads, config.head_dim])?;
    // Split rather than sliced: the gradient is one concatenation.
    let mut parts = qkv.f_split_with_sizes([heads + kv_heads, kv_heads], 2)?;
    let value = parts.swap_remove(1);
    let query_key = parts.swap_remove(0);
    let query_key = match &weights.qk_norm {
        Some(weight) => {
            let scaled = query_key.f_rms_norm([config.head_dim], None::<&Tensor>, config.rms_norm_eps)?;
            rope.rotate(&scaled.f_mul(weight)?)?
        }
        None => rope.rotate(&query_key)?,
    };
    let mut parts = query_key.f_split_with_sizes([heads, kv_heads], 2)?;
    let key = parts.swap_remove(1);
    Ok((parts.swap_remove(0), key, value))
}

/// Cosines and signed sines for the tokens of a batch, broadcast over heads.
#[derive(Debug)]
pub struct RopeTables {
    /// `[sequences or 1, length, 1, head_dim]`
    cos: Tensor,
    /// The same shape; negative in the first half, so that a rotation is `x · cos + swapped(x) · sin`.
    sin: Tensor,
}

/// The share of a frequency, in radians a token, that is left when a rotary embedding is stretched: transformers'
/// `_compute_llama3_parameters`.
fn kept(rope: &Llama3Rope, frequency: f64) -> f64 {
    let periods = rope.original_max_position_embeddings * frequency / (2.0 * PI);
    let (low, high) = (rope.low_freq_factor, rope.high_freq_factor);
    let smooth = ((periods - low) / (high - low)).clamp(0.0, 1.0);
    (1.0 - smooth) / rope.factor + smooth
}

impl RopeTables {
    /// Tables for positions `0..length`, shape `[1, length, 1, head_dim]`.
    pub fn new(config: &ModelConfig, length: i64, placement: Placement) -> Result<Self> {
        let fp32 = (Kind::Float, placement.device);
        let exponents = Tensor::f_arange_start_step(0, config.head_dim, 2, fp32)?.f_div_scalar(config.head_dim)?;
        let mut frequencies = Tensor::f_pow_scalar(config.rope_theta, &exponents)?.f_reciprocal()?;
        if let Some(rope) = &config.rope_scaling {
            let shares: Vec<f64> = (0..config.head_dim / 2)
                .map(|index| config.rope_theta.powf(-2.0 * index as f64 / config.head_dim as f64))
                .map(|frequency| kept(rope, frequency))
                .collect();
            let shares = Tensor::f_from_slice(&shares)?.f_to_kind(Kind::Float)?;
            frequencies = frequencies.f_mul(&shares.f_to_device(placement.device)?)?;
        }
        let angles = Tensor::f_arange(length, fp32)?.f_outer(&frequencies)?;
        let shape = [1, length, 1, config.head_dim];
        let kind = placement.kind();
        let (cos, sin) = (angles.f_cos()?, angles.f_sin()?);
        Ok(Self {
            cos: Tensor::f_cat(&[&cos, &cos], 1)?.f_view(shape)?.f_to_kind(kind)?,
            sin: Tensor::f_cat(&[&sin.f_neg()?, &sin], 1)?.f_view(shape)?.f_to_kind(kind)?,
        })
    }

    /// Rows of the tables from [`RopeTables::new`] for one token per sequence: `positions` `[sequences]`.
    pub fn at(&self, positions: &Tensor) -> Result<Self> {
        let pick = |table: &Tensor| table.f_index_select(1, positions)?.f_transpose(0, 1);
        Ok(Self { cos: pick(&self.cos)?, sin: pick(&self.sin)? })
    }

    /// Rows of the tables for any arrangement of tokens: `positions` `[sequences, length]`.
    pub fn gathered(&self, positions: &Tensor) -> Result<Self> {
        let (sequences, length) = positions.size2()?;
        let pick = |table: &Tensor| -> Result<Tensor> {
            let rows = table.f_index_select(1, &positions.f_reshape([-1])?)?;
            Ok(rows.f_view([sequences, length, 1, table.size()[3]])?)
        };
        Ok(Self { cos: pick(&self.cos)?, sin: pick(&self.sin)? })
    }

    /// The tables of the first `length` positions.
    pub fn first(&self, length: i64) -> Result<Self> {
        Ok(Self { cos: self.cos.f_narrow(1, 0, length)?, sin: self.sin.f_narrow(1, 0, length)? })
    }

    /// The tables of consecutive positions, `[length, head_dim]`, for hand-written CPU loops; `None` if libtorch must
    /// rotate.
    pub(crate) fn rotation(&self) -> Option<Rotation<'_>> {
        Some(Rotation {
            cos: host::numbers(&self.cos).filter(|_| self.cos.size()[0] == 1)?,
            sin: host::numbers(&self.sin)?,
        })
    }

    /// Rotates `[sequences, length, heads, head_dim]`.
    pub(super) fn rotate(&self, x: &Tensor) -> Result<Tensor> {
        let half = x.size()[3] / 2;
        let swapped = x.f_roll([half], [3])?;
        Ok(x.f_mul(&self.cos)?.f_addcmul(&swapped, &self.sin)?)
    }
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;

    #[test]
    fn repeated_keys_and_values_are_attended_to_as_grouped_ones() {
        tch::manual_seed(1);
        let heads = |count: i64| Tensor::randn([2, 5, count, 8], (Kind::Float, Device::Cpu));
        let (query, key, value) = (heads(6), heads(2), heads(2));
        let attend = |key: &Tensor, value: &Tensor| CausalAttention.attend(0, &query, key, value).unwrap();
        let [all_keys, all_values] = [&key, &value].map(|shared| repeated(shared, 6).unwrap());
        assert_eq!(all_keys.size(), [2, 5, 6, 8]);
        let difference = attend(&key, &value) - attend(&all_keys, &all_values);
        assert!(difference.abs().max().double_value(&[]) < 1e-6);
    }
}
