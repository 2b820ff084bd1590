//! Peak memory of generation.

use super::{BaseShape, saturating};
use crate::work::LoraShape;

/// The size of a generation batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GenerationShape {
    /// Members that generate together.
    pub members: u64,
    /// Sequences in flight (S).
    pub slots: u64,
    /// Positions of the longest sequence, including its prompt (L).
    pub length: u64,
    /// Bytes per number of the model: 4 in fp32, 2 in bf16 (w).
    pub bytes: u64,
}

/// Bytes at the peak of generation, by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerationFootprint {
    /// The base's weights.
    pub base: u64,
    /// Weights of the members, and a copy arranged for the products.
    pub adapters: u64,
    /// Keys and values of the sequences in flight.
    pub cache: u64,
    /// Logits of one position of each sequence, and the distributions made from them.
    pub logits: u64,
}

impl GenerationFootprint {
    /// The sum of all parts.
    pub fn total(&self) -> u64 {
        let parts = [self.base, self.adapters, self.cache, self.logits];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl GenerationShape {
    /// The peak, once every sequence has run to its end. Keys and values take `2·w·S·L·k` per layer, where k is the
    /// width of all key heads; logits are held in fp32 four times (raw, log-probabilities, probabilities and cumulative
    /// sums), which is `16·S·vocabulary`. Not counted are prompts while they pass through the layers, which is over
    /// when the cache is full. The cache's capacity is rounded up to 64 positions.
    pub fn peak(&self, base: &BaseShape, adapter: &LoraShape) -> GenerationFootprint {
        let [members, slots, length, bytes] = [self.members, self.slots, self.length, self.bytes].map(u128::from);
        let [layers, vocabulary] = [base.num_hidden_layers, base.vocab_size].map(u128::from);
        let (_, key) = base.attention_widths();
        GenerationFootprint {
            base: saturating(bytes * base.weights()),
            adapters: saturating((4 + bytes) * members * base.adapter_weights(adapter)),
            cache: saturating(2 * bytes * layers * slots * length * key),
            logits: saturating(16 * slots * vocabulary),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::fixtures::{attention_only, qwen_7b};

    #[test]
    fn the_cache_of_a_7b_base_takes_56_kib_a_token() {
        let (base, adapter) = (qwen_7b(), attention_only());
        let shape = |slots, length| GenerationShape {
            members: 8,
            slots,
            length,
            bytes: 2,
        };
        let one = shape(1, 1).peak(&base, &adapter);
        assert_eq!(one.cache, 2 * 2 * 28 * 4 * 128);
        let many = shape(192, 8192).peak(&base, &adapter);
        assert_eq!(many.cache, 192 * 8192 * one.cache);
        assert_eq!(many.base, one.base);
        assert_eq!(many.total(), many.base + many.adapters + many.cache + many.logits);
    }
}
