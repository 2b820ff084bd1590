//! KV cache of the sequences in flight: one slot per row of the decoding batch.

use std::cell::RefCell;

use tch::{Kind, Tensor};

use crate::config::ModelConfig;
use crate::device::Placement;
use crate::error::{EngineError, Result};
use crate::model::{Attend, CausalAttention};
use crate::product::product;

/// Capacity grows in multiples of this many positions.
const STEP: i64 = 64;

/// Per layer keys and values `[slots, kv_heads, capacity, head_dim]`.
#[derive(Debug)]
pub(super) struct KvCache {
    layers: Vec<(Tensor, Tensor)>,
    slots: i64,
    capacity: i64,
    /// Positions of the longest sequence there will be, in whole steps.
    most: i64,
    kv_heads: i64,
    head_dim: i64,
    placement: Placement,
    /// Memory limit of the cache in bytes; `None` leaves the limit to the device.
    budget: Option<u64>,
}

impl KvCache {
    /// For `slots` sequences of at most `longest` positions.
    pub(super) fn new(
        config: &ModelConfig,
        placement: Placement,
        (slots, longest): (i64, i64),
        budget: Option<u64>,
    ) -> Self {
        let (kv_heads, head_dim) = (config.num_key_value_heads, config.head_dim);
        Self {
            layers: Vec::new(),
            slots,
            capacity: 0,
            most: in_steps(longest),
            kv_heads,
            head_dim,
            placement,
            budget,
        }
    }

    /// Makes room for `length` positions in every slot; stored values are kept.
    pub(super) fn reserve(&mut self, layers: usize, length: i64) -> Result<()> {
        if length <= self.capacity {
            return Ok(());
        }
        // Growing by half keeps the number of copies logarithmic.
        let half_more = in_steps(self.capacity + self.capacity / 2).min(self.most);
        let capacity = in_steps(length).max(half_more);
        let shape = [self.slots, self.kv_heads, capacity, self.head_dim];
        let bytes = 2 * layers as u64 * shape.iter().product::<i64>() as u64 * self.placement.dtype.bytes();
        if let Some(budget) = self.budget.filter(|&budget| bytes > budget) {
            return Err(EngineError::OutOfMemory {
                device: format!("{:?}", self.placement.device),
                detail: format!(
                    "a cache of {} slots of {capacity} tokens takes {bytes} bytes of {budget}",
                    self.slots
                ),
            });
        }
        let options = (self.placement.kind(), self.placement.device);
        let used = self.capacity;
        let grown = |old: Option<&Tensor>| -> Result<Tensor> {
            let new = Tensor::f_zeros(shape, options)?;
            if let Some(old) = old {
                new.f_narrow(2, 0, used)?.f_copy_(old)?;
            }
            Ok(new)
        };
        for index in 0..layers {
            let old = self.layers.get(index);
            let new = (grown(old.map(|layer| &layer.0))?, grown(old.map(|layer| &layer.1))?);
            match self.layers.get_mut(index) {
                Some(layer) => *layer = new,
                None => self.layers.push(new),
            }
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Copies a prompt's keys and values into slots: slot `slots[i]` receives row `rows[i]` of `prompt`.
    pub(super) fn fill(&mut self, prompt: &PromptCache, rows: &Tensor, slots: &Tensor) -> Result<()> {
        for ((keys, values), (prompt_keys, prompt_values)) in self.layers.iter().zip(prompt.layers.borrow().iter()) {
            let length = prompt_keys.size()[2];
            for (cache, prompt) in [(keys, prompt_keys), (values, prompt_values)] {
                let source = prompt.f_index_select(0, rows)?;
                let _ = cache.f_narrow(2, 0, length)?.f_index_copy_(0, slots, &source)?;
            }
        }
        Ok(())
    }

    /// Keeps only these slots, in this order.
    pub(super) fn keep(&mut self, slots: &Tensor) -> Result<()> {
        for (keys, values) in &mut self.layers {
            *keys = keys.f_index_select(0, slots)?;
            *values = values.f_index_select(0, slots)?;
        }
        self.slots = slots.size()[0];
        Ok(())
    }
}

/// The positions, rounded up to whole steps of capacity.
fn in_steps(positions: i64) -> i64 {
    (positions + STEP - 1) / STEP * STEP
}

/// Keys and values of a prefill pass, `[prompts, kv_heads, length, head_dim]` per layer.
#[derive(Debug, Default)]
pub(super) struct PromptCache {
    layers: RefCell<Vec<(Tensor, Tensor)>>,
}

impl PromptCache {
    /// Number of layers prefilled.
    pub(super) fn layers(&self) -> usize {
        self.layers.borrow().len()
    }

    /// Positions of each prompt, padding included.
    pub(super) fn length(&self) -> i64 {
        self.layers.borrow().first().map_or(0, |(keys, _)| keys.size()[2])
    }
}

impl Attend for PromptCache {
    fn attend(&self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        // Copied, because views would keep the whole joint projection alive.
        let kept = |x: &Tensor| -> Result<Tensor> { Ok(x.f_transpose(1, 2)?.f_contiguous()?) };
        self.layers.borrow_mut().push((kept(key)?, kept(value)?));
        CausalAttention.attend(layer, query, key, value)
    }
}

/// Attention of one new token per slot to the slot's cached tokens.
pub(super) struct DecodeAttention<'a> {
    cache: &'a KvCache,
    /// Number of positions used by any slot, including the new one.
    length: i64,
    slot_index: Tensor,
    head_index: Tensor,
    /// Position of the new token, `[slots, 1]`.
    positions: Tensor,
    /// Attention mask `[slots, 1, 1, length]`: 0 where a slot's token may attend, minus infinity elsewhere.
    mask: Tensor,
}

impl<'a> DecodeAttention<'a> {
    /// `positions` `[slots]` of the new tokens, the largest of which is `length - 1`.
    pub(super) fn new(cache: &'a KvCache, positions: &Tensor, length: i64) -> Result<Self> {
        let index = (Kind::Int64, cache.placement.device);
        let positions = positions.f_unsqueeze(1)?;
        let hidden = Tensor::f_arange(length, index)?
            .f_unsqueeze(0)?
            .f_gt_tensor(&positions)?;
        let options = (cache.placement.kind(), cache.placement.device);
        let mask = Tensor::f_zeros([cache.slots, length], options)?.f_masked_fill(&hidden, f64::NEG_INFINITY)?;
        Ok(Self {
            cache,
            length,
            slot_index: Tensor::f_arange(cache.slots, index)?.f_unsqueeze(1)?,
            head_index: Tensor::f_arange(cache.kv_heads, index)?.f_unsqueeze(0)?,
            positions,
            mask: mask.f_view([cache.slots, 1, 1, length])?,
        })
    }
}

impl Attend for DecodeAttention<'_> {
    fn attend(&self, layer: usize, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<Tensor> {
        let (keys, values) = &self.cache.layers[layer];
        let place = [Some(&self.slot_index), Some(&self.head_index), Some(&self.positions)];
        for (cache, new) in [(keys, key), (values, value)] {
            let _ = cache
                .shallow_clone()
                .f_index_put_(&place, &new.f_squeeze_dim(1)?, false)?;
        }
        let (slots, _, heads, head_dim) = query.size4()?;
        let kv_heads = self.cache.kv_heads;
        // Query heads that share a key head are treated as consecutive queries, so that keys are not repeated.
        let query = query.f_reshape([slots, kv_heads, heads / kv_heads, head_dim])?;
        let (keys, values) = (keys.f_narrow(2, 0, self.length)?, values.f_narrow(2, 0, self.length)?);
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
        // Views, not copies: this is most of the memory a step reads.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Architecture;

    #[test]
    fn capacity_grows_by_half_and_not_beyond_the_longest_sequence() {
        let config = ModelConfig {
            architecture: Architecture::Qwen2,
            vocab_size: 8,
            hidden_size: 8,
            intermediate_size: 8,
            num_hidden_layers: 1,
            num_attention_heads: 1,
            num_key_value_heads: 1,
            head_dim: 8,
            max_position_embeddings: 1024,
            rms_norm_eps: 1e-6,
            rope_theta: 1e4,
            tie_word_embeddings: true,
            attention_bias: true,
            eos_token_ids: Vec::new(),
            pad_token_id: None,
        };
        let mut cache = KvCache::new(&config, Placement::REFERENCE, (2, 420), None);
        let mut capacities = Vec::new();
        for length in [100, 129, 193, 321, 420] {
            cache.reserve(1, length).unwrap();
            capacities.push(cache.capacity);
        }
        assert_eq!(capacities, [128, 192, 320, 448, 448]);
    }
}
