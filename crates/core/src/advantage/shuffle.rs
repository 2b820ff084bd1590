//! Random rewards, as a control.

use rand::{Rng, seq::SliceRandom as _};
use std::collections::BTreeMap;

use super::Sampled;

/// Permutes the rewards of each task among its sequences: their distribution stays the same, but what a sequence earns
/// no longer depends on what it says. What is learned from them is not learned from verdicts.
pub fn shuffle_rewards<T: Copy + Ord>(batch: &mut [(T, Sampled)], random: &mut impl Rng) {
    let mut tasks: BTreeMap<T, Vec<usize>> = BTreeMap::new();
    for (place, (task, _)) in batch.iter().enumerate() {
        tasks.entry(*task).or_default().push(place);
    }
    for places in tasks.values() {
        let mut rewards: Vec<f32> = places.iter().map(|&place| batch[place].1.reward).collect();
        rewards.shuffle(random);
        for (&place, reward) in places.iter().zip(rewards) {
            batch[place].1.reward = reward;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::stream;
    use proptest::prelude::*;

    fn batch(rewards: &[(u8, f32)]) -> Vec<(u8, Sampled)> {
        let sampled = |(group, &(task, reward)): (u32, &(u8, f32))| {
            let sampled = Sampled {
                reward,
                group,
                tokens: group + 1,
            };
            (task, sampled)
        };
        (0..).zip(rewards).map(sampled).collect()
    }

    fn rewards_of(task: u8, batch: &[(u8, Sampled)]) -> Vec<f32> {
        let own = batch.iter().filter(|(of, _)| *of == task);
        own.map(|(_, sampled)| sampled.reward).collect()
    }

    proptest! {
        #[test]
        fn each_task_keeps_its_rewards_and_each_sequence_all_else(
            rewards in proptest::collection::vec((0_u8..3, -4.0_f32..4.0), 0..40), seed: u64,
        ) {
            let before = batch(&rewards);
            let mut after = before.clone();
            shuffle_rewards(&mut after, &mut stream(seed, "rewards", 0));
            for task in 0..3 {
                let sorted = |batch: &[(u8, Sampled)]| {
                    let mut rewards = rewards_of(task, batch);
                    rewards.sort_by(f32::total_cmp);
                    rewards
                };
                prop_assert_eq!(sorted(&before), sorted(&after));
            }
            for ((task, old), (same, new)) in before.iter().zip(&after) {
                prop_assert_eq!((task, old.group, old.tokens), (same, new.group, new.tokens));
            }
        }
    }

    #[test]
    fn every_reward_reaches_every_place_equally_often() {
        let before = batch(&[(0, 1.0), (0, 2.0), (0, 3.0), (1, 9.0)]);
        let mut counts = [[0_u32; 3]; 3];
        for item in 0..3000 {
            let mut after = before.clone();
            shuffle_rewards(&mut after, &mut stream(7, "rewards", item));
            for (place, reward) in rewards_of(0, &after).into_iter().enumerate() {
                counts[place][reward as usize - 1] += 1;
            }
            assert_eq!(rewards_of(1, &after), [9.0]);
        }
        // 1000 ± 26 each; four deviations.
        assert!(
            counts.iter().flatten().all(|count| count.abs_diff(1000) < 104),
            "{counts:?}"
        );
    }
}
