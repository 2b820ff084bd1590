//! Attention inside packed rows.

use lyceum_engine::error::Result;
use lyceum_engine::model::Attend;
use tch::Tensor;

/// Each token attends to the tokens allowed by its row's mask.
#[derive(Debug)]
pub(super) struct MaskedAttention<'a> {
    /// 0 or −∞, `[R, 1, L, L]`.
    pub(super) mask: &'a Tensor,
}

impl Attend for MaskedAttention<'_> {
    fn attend(&self, _layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        let (rows, length, heads, head_dim) = query.size4()?;
        let attended = Tensor::f_scaled_dot_product_attention(
            &query.f_transpose(1, 2)?,
            &key.f_transpose(1, 2)?,
            &value.f_transpose(1, 2)?,
            Some(self.mask),
            0.0,
            false,
            None,
            heads != key.size()[2],
        )?;
        Ok(attended
            .f_transpose(1, 2)?
            .f_reshape([rows, length, heads * head_dim])?)
    }
}
