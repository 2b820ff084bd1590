//! From rewards to advantages, without a critic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, hash::Hash};

/// One sampled sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// What it got.
    pub reward: f32,
    /// The prompt that it answers: samples of one prompt are a group.
    pub group: u32,
    /// Its length in tokens.
    pub tokens: u32,
}

/// What mean and variance are taken over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Whitening {
    /// Sequences, each counted once.
    #[default]
    Sequence,
    /// Tokens, so that a long sequence counts for more (verl, and with it Absolute Zero's code).
    Token,
}

/// REINFORCE++-baseline (arXiv 2501.03262; PopuLoRA, section 3.1): reward minus the mean of its group, whitened over the batch.
/// The baseline of a group of one is 0, as in verl.
pub fn reinforce_plus_plus_baseline(batch: &[Sampled], whitening: Whitening) -> Vec<f32> {
    let mut groups: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    for sampled in batch {
        let (sum, count) = groups.entry(sampled.group).or_default();
        *sum += f64::from(sampled.reward);
        *count += 1;
    }
    let centred = batch.iter().map(|sampled| {
        let baseline = match groups.get(&sampled.group) {
            Some(&(sum, count)) if count > 1 => sum / f64::from(count),
            _ => 0.0,
        };
        f64::from(sampled.reward) - baseline
    });
    whitened(&centred.collect::<Vec<_>>(), batch, whitening)
}

/// REINFORCE++ with one reward a sequence and γ = 1: the reward itself, whitened over the batch.
pub fn reinforce_plus_plus(batch: &[Sampled], whitening: Whitening) -> Vec<f32> {
    let rewards: Vec<f64> = batch.iter().map(|sampled| f64::from(sampled.reward)).collect();
    whitened(&rewards, batch, whitening)
}

/// Task-relative REINFORCE++ (Absolute Zero, Eq. 8): each sequence whitened among those of its own task, a role and a type.
pub fn task_relative_reinforce_plus_plus<T: Copy + Eq + Ord + Hash>(
    batch: &[(T, Sampled)],
    whitening: Whitening,
) -> Vec<f32> {
    let mut tasks: BTreeMap<T, Vec<usize>> = BTreeMap::new();
    for (index, (task, _)) in batch.iter().enumerate() {
        tasks.entry(*task).or_default().push(index);
    }
    let mut advantages = vec![0.0; batch.len()];
    for indices in tasks.values() {
        let own: Vec<Sampled> = indices.iter().map(|&index| batch[index].1).collect();
        for (&index, advantage) in indices.iter().zip(reinforce_plus_plus(&own, whitening)) {
            advantages[index] = advantage;
        }
    }
    advantages
}

/// Values with mean 0 and (unbiased) variance 1: (x − mean) / √(variance + 1e-8). All are 0 where they do not differ.
fn whitened(values: &[f64], batch: &[Sampled], whitening: Whitening) -> Vec<f32> {
    let weight = |sampled: &Sampled| match whitening {
        Whitening::Sequence => 1.0,
        Whitening::Token => f64::from(sampled.tokens),
    };
    let total: f64 = batch.iter().map(weight).sum();
    let weighted = || values.iter().zip(batch.iter().map(weight));
    let mean = weighted().map(|(value, weight)| value * weight).sum::<f64>() / total.max(1.0);
    let squares: f64 = weighted().map(|(value, weight)| weight * (value - mean).powi(2)).sum();
    let variance = squares / (total - 1.0).max(1.0);
    let scale = (variance + 1e-8).sqrt().recip();
    values.iter().map(|value| ((value - mean) * scale) as f32).collect()
}

/// Whether a group tells its samples apart: without that it teaches nothing under a group baseline.
pub fn has_signal(rewards: &[f32]) -> bool {
    rewards.windows(2).any(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sampled(reward: f32, group: u32, tokens: u32) -> Sampled {
        Sampled { reward, group, tokens }
    }

    fn assert_near(given: &[f32], wanted: &[f32]) {
        assert_eq!(given.len(), wanted.len());
        for (given, wanted) in given.iter().zip(wanted) {
            assert!((given - wanted).abs() < 1e-5, "{given} is not {wanted}");
        }
    }

    #[test]
    fn a_small_batch_by_hand() {
        // Centred: (1, −0.5) has mean 0.25, so ±0.75; (−1, −1) gives 0, 0; the lone 0.875 keeps its reward.
        let batch = [
            sampled(1.0, 0, 4),
            sampled(-0.5, 0, 4),
            sampled(-1.0, 1, 4),
            sampled(-1.0, 1, 4),
            sampled(0.875, 2, 4),
        ];
        // Mean 0.175; squares 0.330625 + 0.855625 + 2 × 0.030625 + 0.49 = 1.7375; variance 1.7375 / 4 = 0.434375.
        let deviation = 0.434375_f32.sqrt();
        let wanted = [0.75, -0.75, 0.0, 0.0, 0.875].map(|centred| (centred - 0.175) / deviation);
        assert_near(&reinforce_plus_plus_baseline(&batch, Whitening::Sequence), &wanted);
    }

    #[test]
    fn tokens_weigh_mean_and_variance() {
        // Python, over tokens [1, 1, 1, 0]: mean 0.75, variance 0.25 (n − 1): (1 − 0.75) / 0.5, (0 − 0.75) / 0.5.
        let batch = [sampled(1.0, 0, 3), sampled(0.0, 1, 1)];
        assert_near(&reinforce_plus_plus(&batch, Whitening::Token), &[0.5, -1.5]);
    }

    #[test]
    fn each_task_is_whitened_among_its_own() {
        let batch = [
            (0, sampled(1.0, 0, 1)),
            (1, sampled(-1.0, 1, 1)),
            (0, sampled(0.0, 2, 1)),
            (1, sampled(-1.0, 3, 1)),
        ];
        let half = 0.5 / 0.5_f32.sqrt();
        let given = task_relative_reinforce_plus_plus(&batch, Whitening::Sequence);
        assert_near(&given, &[half, 0.0, -half, 0.0]);
    }

    #[test]
    fn equal_rewards_teach_nothing() {
        let batch = [sampled(-1.0, 0, 3); 4];
        assert_eq!(reinforce_plus_plus_baseline(&batch, Whitening::Sequence), [0.0; 4]);
        assert_eq!(reinforce_plus_plus(&batch[..1], Whitening::Token), [0.0]);
        assert!(reinforce_plus_plus(&[], Whitening::Token).is_empty());
        assert!(!has_signal(&[1.0, 1.0]) && has_signal(&[1.0, -0.5]) && !has_signal(&[]));
    }

    proptest! {
        #[test]
        fn whitened_batches_have_mean_0_and_variance_1(
            rewards in proptest::collection::vec((-4_i8..4, 0_u32..5, 1_u32..9), 2..40)
        ) {
            let batch: Vec<_> = rewards.iter().map(|&(r, group, tokens)| sampled(f32::from(r), group, tokens)).collect();
            let advantages = reinforce_plus_plus(&batch, Whitening::Sequence);
            let n = advantages.len() as f32;
            let mean = advantages.iter().sum::<f32>() / n;
            prop_assert!(mean.abs() < 1e-4);
            if has_signal(&batch.iter().map(|sampled| sampled.reward).collect::<Vec<_>>()) {
                let variance = advantages.iter().map(|a| (a - mean).powi(2)).sum::<f32>() / (n - 1.0);
                prop_assert!((variance - 1.0).abs() < 1e-3);
            }
            prop_assert!(advantages.iter().all(|advantage| advantage.is_finite()));
        }
    }
}
