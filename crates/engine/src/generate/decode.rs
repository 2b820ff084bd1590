//! Attention of a decoding step, if each slot holds its whole sequence.

use tch::{Kind, Tensor};

use super::key_values::{KeyValues, Places};
use crate::error::Result;
use crate::model::Attend;
use crate::product::product;

/// Attention of one new token per slot to the slot's cached tokens.
pub(super) struct DecodeAttention<'a> {
    slots: &'a KeyValues,
    /// Number of positions to attend to, at least those used by any slot, including the new one.
    length: i64,
    places: Places,
    /// Attention mask `[slots, 1, 1, length]`: 0 where a slot's token may attend, minus infinity elsewhere.
    mask: Tensor,
}

impl<'a> DecodeAttention<'a> {
    /// `positions` `[slots]` of the new tokens, all of which are below `length`.
    pub(super) fn new(slots: &'a KeyValues, positions: &Tensor, length: i64) -> Result<Self> {
        let places = Places::new(slots, positions)?;
        let options = (slots.placement().kind(), slots.placement().device);
        let mask = Tensor::f_zeros([slots.rows(), length], options)?;
        let mask = mask.f_masked_fill(&places.after(length)?, f64::NEG_INFINITY)?;
        Ok(Self {
            slots,
            length,
            places,
            mask: mask.f_view([slots.rows(), 1, 1, length])?,
        })
    }
}

impl Attend for DecodeAttention<'_> {
    fn attend(&self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        self.slots.store(layer, &self.places, key, value)?;
        let (slots, _, heads, head_dim) = query.size4()?;
        let kv_heads = self.slots.kv_heads();
        // Query heads that share a key head are treated as consecutive queries, so that keys are not repeated.
        let query = query.f_reshape([slots, kv_heads, heads / kv_heads, head_dim])?;
        let (keys, values) = self.slots.first(layer, self.length)?;
        let attended = if query.device().is_cuda() {
            let none = None::<f64>;
            Tensor::f_scaled_dot_product_attention(&query, &keys, &values, Some(&self.mask), 0.0, false, none, false)?
        } else {
            self.products(&query, &keys, &values)?
        };
        Ok(attended.f_reshape([slots, 1, heads * head_dim])?)
    }
}

impl DecodeAttention<'_> {
    /// On the CPU two batched products read keys and values faster than libtorch's fused kernel, which is built for
    /// many queries.
    fn products(&self, query: &Tensor, keys: &Tensor, values: &Tensor) -> Result<Tensor> {
        let (slots, kv_heads, queries, head_dim) = query.size4()?;
        let batch = slots * kv_heads;
        let scaled = query
            .f_mul_scalar(1.0 / (head_dim as f64).sqrt())?
            .f_reshape([batch, queries, head_dim])?;
        let flat = |x: &Tensor, rows: i64| x.f_view([batch, rows, head_dim]);
        let scores = product(&scaled, &flat(keys, self.length)?.f_transpose(1, 2)?)?;
        let scores = scores
            .f_view([slots, kv_heads, queries, self.length])?
            .f_add(&self.mask)?;
        let weights = scores.f_softmax(-1, Kind::Float)?.f_to_kind(values.kind())?;
        product(
            &weights.f_view([batch, queries, self.length])?,
            &flat(values, self.length)?,
        )
    }
}
