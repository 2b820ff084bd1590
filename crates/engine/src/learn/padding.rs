//! Which sequences of a micro-batch are padded to one length for attention.

use tch::Device;

/// How attention pads the sequences of a micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    ToLongest,
    /// In buckets of sequences of similar lengths.
    ByLength {
        /// Positions of padding that a further bucket is worth.
        worth: usize,
    },
}

impl Padding {
    /// In buckets, each worth about what the launches of its kernels cost, by estimate.
    pub const BY_LENGTH: Self = Self::ByLength { worth: 1024 };

    /// On a CPU one call for all sequences; on a GPU buckets.
    pub(super) fn on(device: Device) -> Self {
        match device {
            Device::Cpu => Self::ToLongest,
            _ => Self::BY_LENGTH,
        }
    }

    /// Divides sequences of these lengths into buckets, each padded to its longest. The padded positions and the worth of
    /// all buckets add up to the least there can be. Indices of the sequences, ascending in each bucket; shorter ones first.
    pub(super) fn divide(self, lengths: &[usize]) -> Vec<Vec<usize>> {
        match self {
            Self::ToLongest => vec![(0..lengths.len()).collect()],
            Self::ByLength { worth } => buckets(lengths, worth),
        }
    }
}

fn buckets(lengths: &[usize], worth: usize) -> Vec<Vec<usize>> {
    let mut distinct: Vec<usize> = lengths.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    // Sequences of the first N lengths.
    let mut up_to = vec![0; distinct.len() + 1];
    for (index, &length) in distinct.iter().enumerate() {
        up_to[index + 1] = up_to[index] + lengths.iter().filter(|&&other| other == length).count();
    }
    // For each number of lengths, the least cost of dividing the sequences that have them, and where the last bucket starts.
    let mut best = vec![(0, 0)];
    for end in 1..=distinct.len() {
        let cost = |start: usize| best[start].0 + (up_to[end] - up_to[start]) * distinct[end - 1] + worth;
        let least = (0..end).map(|start| (cost(start), start)).min();
        best.extend(least);
    }
    let mut longest = Vec::new();
    let mut end = distinct.len();
    while end > 0 {
        longest.push(distinct[end - 1]);
        end = best[end].1;
    }
    longest.reverse();
    let mut buckets = vec![Vec::new(); longest.len()];
    for (index, length) in lengths.iter().enumerate() {
        buckets[longest.partition_point(|longest| longest < length)].push(index);
    }
    buckets
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::buckets;

    const WORTH: usize = 1024;

    fn padded(lengths: &[usize], buckets: &[Vec<usize>]) -> usize {
        let longest = |bucket: &Vec<usize>| bucket.iter().map(|&index| lengths[index]).max().unwrap_or(0);
        buckets.iter().map(|bucket| bucket.len() * longest(bucket)).sum()
    }

    #[test]
    fn few_short_sequences_stay_together_and_long_ones_are_set_apart() {
        assert_eq!(buckets(&[3, 9, 5], WORTH), [[0, 1, 2]]);
        assert_eq!(buckets(&[2000, 100, 1990, 110, 90], WORTH), [vec![1, 3, 4], vec![0, 2]]);
        assert!(buckets(&[], WORTH).is_empty());
    }

    #[test]
    fn answers_of_ordinary_lengths_are_padded_by_a_tenth_instead_of_many_times() {
        // Sixty answers, most of them short, some to the limit.
        let lengths: Vec<usize> = (0..60).map(|index| 150 + index * index * 1850 / 3481).collect();
        let unpadded: usize = lengths.iter().sum();
        let found = buckets(&lengths, WORTH);
        assert!(padded(&lengths, &found) * 10 < unpadded * 12, "{} buckets", found.len());
        assert!(60 * 2000 * 10 > unpadded * 22);
    }

    proptest! {
        #[test]
        fn every_sequence_is_in_one_bucket_and_no_division_by_length_is_better(
            lengths in prop::collection::vec(1usize..3000, 1..9), cuts: u8
        ) {
            let found = buckets(&lengths, WORTH);
            let mut all: Vec<usize> = found.iter().flatten().copied().collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
            // Any other division of the sequences in order of length.
            let mut order: Vec<usize> = (0..lengths.len()).collect();
            order.sort_by_key(|&index| lengths[index]);
            let mut other = vec![Vec::new()];
            for (place, &index) in order.iter().enumerate() {
                if place > 0 && cuts & (1 << (place - 1)) != 0 {
                    other.push(Vec::new());
                }
                other.last_mut().unwrap().push(index);
            }
            let cost = |buckets: &[Vec<usize>]| padded(&lengths, buckets) + WORTH * buckets.len();
            prop_assert!(cost(&found) <= cost(&other));
        }

        #[test]
        fn large_micro_batches_are_padded_to_less_than_twice_their_size(
            lengths in prop::collection::vec(1usize..4096, 0..400)
        ) {
            let unpadded: usize = lengths.iter().sum();
            prop_assert!(unpadded < 16_384 || padded(&lengths, &buckets(&lengths, WORTH)) < 2 * unpadded);
        }
    }
}
