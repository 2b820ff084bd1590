//! Attention of a decoding step, if each slot holds its whole sequence.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::key_values::{First, KeyValues, Places};
use crate::error::Result;
use crate::model::Attend;
use crate::product::product;

/// Attention of one new token per slot to the slot's cached tokens.
pub(super) struct DecodeAttention<'a> {
    slots: &'a KeyValues,
    cached: Rc<[First]>,
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
            cached: slots.first(length)?,
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
        let cached = &self.cached[layer];
        if !query.device().is_cuda() {
            return self.products(&query, cached);
        }
        let (keys, values, mask) = (&cached.keys, &cached.values, Some(&self.mask));
        Ok(Tensor::f_scaled_dot_product_attention(
            &query, keys, values, mask, 0.0, false, None, false,
        )?)
    }
}

impl DecodeAttention<'_> {
    /// On the CPU two batched products read keys and values faster than libtorch's fused kernel, which is built for
    /// many queries.
    fn products(&self, query: &Tensor, cached: &First) -> Result<Tensor> {
        let (slots, kv_heads, queries, head_dim) = query.size4()?;
        let batch = slots * kv_heads;
        let scaled = query
            .f_mul_scalar(1.0 / (head_dim as f64).sqrt())?
            .f_reshape([batch, queries, head_dim])?;
        let scores = product(&scaled, &cached.keys_by_head)?
            .f_view([slots, kv_heads, queries, self.length])?
            .f_add(&self.mask)?;
        let values = &cached.values_by_head;
        let weights = scores.f_softmax(-1, Kind::Float)?.f_to_kind(values.kind())?;
        let attended = product(&weights.f_view([batch, queries, self.length])?, values)?;
        Ok(attended.f_view([slots, kv_heads, queries, head_dim])?)
    }
}
