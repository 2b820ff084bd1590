//! KV cache of the sequences in flight: one slot per row of the decoding batch, and the prompts if they are shared.

use tch::Tensor;

use super::GenerationOptions;
use super::key_values::{KeyValues, Layers};
use super::prompts::PromptBlocks;
use super::rounding::Rounding;
use crate::config::ModelConfig;
use crate::device::Placement;
use crate::error::{EngineError, Result};

/// Keys and values of everything in flight.
#[derive(Debug)]
pub(super) struct KvCache {
    /// Whole sequences, or only their new tokens if prompts are shared.
    pub(super) slots: KeyValues,
    pub(super) prompts: Option<PromptBlocks>,
    pub(super) rounding: Rounding,
    /// Positions of the longest sequence a slot will hold, in whole steps.
    most: i64,
    /// Memory limit of the cache in bytes; `None` leaves the limit to the device.
    budget: Option<u64>,
}

impl KvCache {
    /// For `slots` sequences, of which a slot will hold at most `longest` positions.
    pub(super) fn new(
        config: &ModelConfig,
        placement: Placement,
        (slots, longest): (i64, i64),
        options: &GenerationOptions,
    ) -> Result<Self> {
        let rounding = Rounding::of(placement.device);
        let prompts = options
            .share_prompts
            .then(|| PromptBlocks::new(config, placement, rounding));
        Ok(Self {
            slots: KeyValues::new(config, placement, slots)?,
            prompts: prompts.transpose()?,
            rounding,
            most: rounding.capacity(longest),
            budget: options.cache_bytes,
        })
    }

    /// Makes room for `length` positions in every slot; stored values are kept.
    pub(super) fn reserve(&mut self, length: i64) -> Result<()> {
        let (slots, used) = (self.slots.rows(), self.slots.capacity());
        if length <= used {
            return Ok(());
        }
        // Growing by half keeps the number of copies logarithmic.
        let half_more = self.rounding.capacity(used + used / 2).min(self.most);
        let capacity = self.rounding.capacity(length).max(half_more);
        let prompts = self.prompts.as_ref().map(|prompts| &prompts.key_values);
        self.check_budget(
            (slots, capacity),
            prompts.map_or((0, 0), |prompts| (prompts.rows(), prompts.capacity())),
        )?;
        self.slots.grow(slots, capacity)
    }

    /// Makes room for `more` prompts of at most `longest` tokens, if prompts are shared.
    pub(super) fn reserve_prompts(&mut self, more: usize, longest: i64) -> Result<()> {
        let Some(prompts) = &self.prompts else { return Ok(()) };
        let (rows, capacity) = prompts.needed(more, longest);
        if (rows, capacity) == (prompts.key_values.rows(), prompts.key_values.capacity()) {
            return Ok(());
        }
        let slots = (self.slots.rows(), self.slots.capacity());
        self.check_budget(slots, (rows, capacity))?;
        match &mut self.prompts {
            Some(prompts) => prompts.grow(rows, capacity),
            None => Ok(()),
        }
    }

    /// Copies a prompt's keys and values into slots: slot `slots[i]` receives row `rows[i]` of `pass`.
    pub(super) fn fill(&mut self, pass: &Layers, rows: &Tensor, slots: &Tensor) -> Result<()> {
        self.reserve(pass.first().map_or(0, |(keys, _)| keys.size()[2]))?;
        self.slots.fill(pass, rows, slots)
    }

    /// Keeps only these slots, in this order, and the prompts that are still needed.
    pub(super) fn keep(&mut self, slots: &Tensor) -> Result<()> {
        self.slots.keep(slots, self.slots.capacity())?;
        self.prompts.as_mut().map_or(Ok(()), PromptBlocks::compact)
    }

    /// Refuses more than the budget for so many slots and prompts, each with its capacity.
    fn check_budget(&self, (slots, capacity): (i64, i64), (prompts, length): (i64, i64)) -> Result<()> {
        let bytes = self.slots.bytes(slots, capacity) + self.slots.bytes(prompts, length);
        let Some(budget) = self.budget.filter(|&budget| bytes > budget) else {
            return Ok(());
        };
        let besides = match prompts {
            0 => String::new(),
            _ => format!(" and {prompts} prompts of {length}"),
        };
        Err(EngineError::CacheLimit(format!(
            "a cache of {slots} slots of {capacity} tokens{besides} takes {bytes} bytes of {budget}"
        )))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::config::Architecture;

    /// One layer with `heads` heads of eight, which share `kv_heads` key heads.
    pub(in crate::generate) fn config(heads: i64, kv_heads: i64) -> ModelConfig {
        ModelConfig {
            architecture: Architecture::Qwen2,
            vocab_size: 8,
            hidden_size: 8 * heads,
            intermediate_size: 8,
            num_hidden_layers: 1,
            num_attention_heads: heads,
            num_key_value_heads: kv_heads,
            head_dim: 8,
            max_position_embeddings: 1024,
            rms_norm_eps: 1e-6,
            rope_theta: 1e4,
            rope_scaling: None,
            tie_word_embeddings: true,
            attention_bias: true,
            eos_token_ids: Vec::new(),
            pad_token_id: None,
        }
    }

    #[test]
    fn capacity_grows_by_half_and_not_beyond_the_longest_sequence() {
        let options = GenerationOptions::default();
        let mut cache = KvCache::new(&config(1, 1), Placement::REFERENCE, (2, 420), &options).unwrap();
        let mut capacities = Vec::new();
        for length in [100, 129, 193, 321, 420] {
            cache.reserve(length).unwrap();
            capacities.push(cache.slots.capacity());
        }
        assert_eq!(capacities, [128, 192, 320, 448, 448]);
    }
}
