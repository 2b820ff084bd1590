//! Grouped-query attention: what a layer hands over, and attention within a batch of whole sequences.

use tch::Tensor;

use crate::error::Result;

/// How queries meet keys and values: within the batch ([`CausalAttention`]) or through a cache.
pub trait Attend {
    /// `query` `[sequences, length, heads, head_dim]`, `key` and `value` `[sequences, length, kv_heads, head_dim]`,
    /// rotated; answers `[sequences, length, heads · head_dim]`.
    fn attend(&self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor>;
}

/// Each token sees itself and the tokens before it in its own sequence. Right padding needs no mask: no real token sees
/// it.
#[derive(Debug, Clone, Copy)]
pub struct CausalAttention;

impl Attend for CausalAttention {
    fn attend(&self, _layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        let (sequences, length, heads, head_dim) = query.size4()?;
        let grouped = heads != key.size()[2];
        let attended = Tensor::f_scaled_dot_product_attention(
            &query.f_transpose(1, 2)?,
            &key.f_transpose(1, 2)?,
            &value.f_transpose(1, 2)?,
            None::<&Tensor>,
            0.0,
            true,
            None,
            grouped,
        )?;
        Ok(attended
            .f_transpose(1, 2)?
            .f_reshape([sequences, length, heads * head_dim])?)
    }
}
