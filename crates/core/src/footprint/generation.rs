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
    /// width of all key heads; logits are held in fp32 at most six times, which is `24·S·vocabulary`: as they are, as
    /// log-probabilities and after mask and temperature, and while all of them are sorted for top-p, the sorted ones and their
    /// places. It is four times where the model's own distribution is drawn from. Not counted are prompts while they pass through the layers, which is over
    /// when the cache is full. The cache's capacity is rounded up to 64 positions, on a GPU to 128. Prompts that samples share are
    /// counted once for each sample, so that where they are held once the peak is lower.
    pub fn peak(&self, base: &BaseShape, adapter: &LoraShape) -> GenerationFootprint {
        let [members, slots, length, bytes] = [self.members, self.slots, self.length, self.bytes].map(u128::from);
        let [layers, vocabulary] = [base.num_hidden_layers, base.vocab_size].map(u128::from);
        let (_, key) = base.attention_widths();
        GenerationFootprint {
            base: saturating(bytes * base.weights()),
            adapters: saturating((4 + bytes) * members * base.adapter_weights(adapter)),
            cache: saturating(2 * bytes * layers * slots * length * key),
            logits: saturating(24 * slots * vocabulary),
        }
    }
}

/// How a batch is generated within the memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GenerationFit {
    /// Sequences in flight.
    pub slots: u64,
    /// Bytes for their keys and values.
    pub cache: u64,
}

impl GenerationShape {
    /// As many sequences in flight as have room in `memory` bytes if none becomes longer than `length`, but at least one
    /// and at most `slots`; and the room that their keys and values have. Sequences that become longer than that may need
    /// more, so that fewer of them can go on.
    pub fn fit(&self, base: &BaseShape, adapter: &LoraShape, memory: u64) -> GenerationFit {
        let of = |slots| {
            let shape = Self { slots, ..self.clone() };
            shape.peak(base, adapter)
        };
        let (none, one) = (of(0), of(1));
        let room = memory.saturating_sub(none.total());
        let slots = room / one.cache.saturating_add(one.logits).max(1);
        let slots = slots.clamp(1, self.slots.max(1));
        GenerationFit { slots, cache: room.saturating_sub(of(slots).logits) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::fixtures::{attention_only, qwen_7b};

    #[test]
    fn the_cache_of_a_7b_base_takes_56_kib_a_token() {
        let (base, adapter) = (qwen_7b(), attention_only());
        let shape = |slots, length| GenerationShape { members: 8, slots, length, bytes: 2 };
        let one = shape(1, 1).peak(&base, &adapter);
        assert_eq!(one.cache, 2 * 2 * 28 * 4 * 128);
        let many = shape(192, 8192).peak(&base, &adapter);
        assert_eq!(many.cache, 192 * 8192 * one.cache);
        assert_eq!(many.base, one.base);
        assert_eq!(many.total(), many.base + many.adapters + many.cache + many.logits);
    }

    #[test]
    fn a_larger_device_has_more_sequences_in_flight_and_none_has_more_than_its_memory() {
        let (base, adapter) = (qwen_7b(), attention_only());
        let shape = GenerationShape { members: 8, slots: 1024, length: 4096, bytes: 2 };
        let fits = [12u64, 24, 48, 80, 141, 1000].map(|gib| (gib << 30, shape.fit(&base, &adapter, gib << 30)));
        for (memory, GenerationFit { slots, cache }) in fits {
            let peak = GenerationShape { slots, ..shape.clone() }.peak(&base, &adapter);
            assert!(peak.total() <= memory || slots == 1, "{slots} in {memory}");
            assert!(peak.cache <= cache || slots == 1, "the planned length has room");
            if slots > 1 && slots < 1024 {
                assert_eq!(peak.total() - peak.cache + cache, memory, "all of the memory is used");
                let more = GenerationShape { slots: slots + 1, ..shape.clone() };
                assert!(more.peak(&base, &adapter).total() > memory);
            }
        }
        let slots = fits.map(|(_, fit)| fit.slots);
        assert!(slots.is_sorted() && slots[0] == 1 && slots[5] == 1024, "{slots:?}");
        assert!(slots[3] > 200, "{slots:?}");
    }
}
