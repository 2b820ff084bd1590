//! Grouped-query attention: cutting the joint projection into heads, and attention within a batch of whole sequences.

use tch::{Kind, Tensor};

use super::layer::LayerWeights;
use super::rope::RopeTables;
use crate::config::ModelConfig;
use crate::error::Result;

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
        let attended = if repeats {
            attend(&repeated(key, heads)?, &repeated(value, heads)?)?
        } else {
            attend(key, value)?
        };
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
