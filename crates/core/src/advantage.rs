//! Advantages from rewards, without a critic.

use rand::Rng;
use rand::seq::SliceRandom as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One sampled sequence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    pub reward: f32,
    /// The prompt it answers; samples of one prompt form a group.
    pub group: u32,
    /// Its length in tokens.
    pub tokens: u32,
}

/// The unit over which mean and variance are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Whitening {
    /// Sequences, each counted once.
    #[default]
    Sequence,
    /// Tokens, so longer sequences weigh more (as in verl and Absolute Zero's code).
    Token,
}

/// Group-relative advantages (GRPO, arXiv 2402.03300, section 4.1.2): reward minus the group's mean, divided by the group's
/// sample standard deviation + 1e-6 as in verl. Without the division they are Dr. GRPO's (arXiv 2503.20783).
///
/// A group whose rewards are all equal, such as a group of one, gets 0. (In verl a group of one keeps its reward.)
pub fn group_relative(batch: &[Sampled], divide_by_std: bool) -> Vec<f32> {
    let groups = groups(batch);
    let advantage = |sampled: &Sampled| {
        let group = groups[&sampled.group];
        let centred = f64::from(sampled.reward) - group.mean;
        let scale = if divide_by_std { group.std + 1e-6 } else { 1.0 };
        (centred / scale) as f32
    };
    batch.iter().map(advantage).collect()
}

/// REINFORCE++-baseline (arXiv 2501.03262; PopuLoRA, section 3.1): reward minus the group's mean, whitened over the
/// batch. The baseline of a group of one is 0, as in verl.
pub fn reinforce_plus_plus_baseline(batch: &[Sampled], whitening: Whitening) -> Vec<f32> {
    let groups = groups(batch);
    let centred = batch.iter().map(|sampled| {
        let group = groups[&sampled.group];
        let baseline = if group.size > 1 { group.mean } else { 0.0 };
        f64::from(sampled.reward) - baseline
    });
    whitened(&centred.collect::<Vec<_>>(), batch, whitening)
}

/// REINFORCE++ with one reward per sequence and γ = 1: the reward itself, whitened over the batch.
pub fn reinforce_plus_plus(batch: &[Sampled], whitening: Whitening) -> Vec<f32> {
    let rewards: Vec<f64> = batch.iter().map(|sampled| f64::from(sampled.reward)).collect();
    whitened(&rewards, batch, whitening)
}

/// Task-relative REINFORCE++ (Absolute Zero, Eq. 8): sequences are whitened within their task, a role and a type.
pub fn task_relative_reinforce_plus_plus<T: Copy + Ord>(batch: &[(T, Sampled)], whitening: Whitening) -> Vec<f32> {
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

/// The rewards of one group.
#[derive(Clone, Copy, Default)]
struct Group {
    size: u32,
    mean: f64,
    /// The sample standard deviation (divided by n − 1); 0 for a group of one.
    std: f64,
}

fn groups(batch: &[Sampled]) -> BTreeMap<u32, Group> {
    let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
    for sampled in batch {
        let group = groups.entry(sampled.group).or_default();
        group.mean += f64::from(sampled.reward);
        group.size += 1;
    }
    for group in groups.values_mut() {
        group.mean /= f64::from(group.size);
    }
    for sampled in batch {
        if let Some(group) = groups.get_mut(&sampled.group) {
            group.std += (f64::from(sampled.reward) - group.mean).powi(2);
        }
    }
    for group in groups.values_mut() {
        group.std = (group.std / f64::from(group.size.max(2) - 1)).sqrt();
    }
    groups
}

/// Values with mean 0 and (unbiased) variance 1: (x − mean) / √(variance + 1e-8). All are 0 if they are equal.
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

/// Whether the group's rewards differ; if not, it teaches nothing under a group baseline.
pub fn has_signal(rewards: &[f32]) -> bool {
    rewards.windows(2).any(|pair| pair[0] != pair[1])
}

/// The rule that turns a reward into an advantage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// GRPO: relative to the samples of the same prompt.
    #[default]
    GroupRelative,
    /// The reward, whitened over the batch.
    ReinforcePlusPlus,
    /// The reward minus the mean of the samples of the same prompt, whitened over the batch.
    ReinforcePlusPlusBaseline,
    /// The reward, whitened over the sequences of the same task.
    TaskRelativeReinforcePlusPlus,
}

impl Estimator {
    /// Whether it teaches nothing with one sample per prompt.
    pub fn needs_groups(self) -> bool {
        self == Self::GroupRelative
    }

    /// Whether a sample is compared with the others of its prompt, so that equal ones teach nothing.
    pub fn compares_samples(self) -> bool {
        matches!(self, Self::GroupRelative | Self::ReinforcePlusPlusBaseline)
    }
}

/// How advantages are computed from rewards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdvantageConfig {
    /// The estimator.
    pub estimator: Estimator,
    /// With `group_relative`: whether to divide by the standard deviation of the group's rewards (GRPO) or not (Dr.
    /// GRPO).
    pub divide_by_std: bool,
    /// With the other estimators: what mean and variance are taken over.
    pub whitening: Whitening,
}

impl Default for AdvantageConfig {
    fn default() -> Self {
        Self { estimator: Estimator::default(), divide_by_std: true, whitening: Whitening::default() }
    }
}

impl AdvantageConfig {
    /// The advantages of a batch, in order; each sequence comes with its task, used only by the task-relative
    /// estimator.
    pub fn advantages<T: Copy + Ord>(&self, batch: &[(T, Sampled)]) -> Vec<f32> {
        let sampled = || batch.iter().map(|(_, sampled)| *sampled).collect::<Vec<_>>();
        match self.estimator {
            Estimator::GroupRelative => group_relative(&sampled(), self.divide_by_std),
            Estimator::ReinforcePlusPlus => reinforce_plus_plus(&sampled(), self.whitening),
            Estimator::ReinforcePlusPlusBaseline => reinforce_plus_plus_baseline(&sampled(), self.whitening),
            Estimator::TaskRelativeReinforcePlusPlus => task_relative_reinforce_plus_plus(batch, self.whitening),
        }
    }
}

/// Permutes rewards among the sequences that are equal by `key`, such as those of a task: their distribution stays the same, but
/// what a sequence earns no longer depends on what it says. What is learned from them is not learned from verdicts.
pub fn shuffle_rewards<T, K: Ord>(batch: &mut [(T, Sampled)], key: impl Fn(&(T, Sampled)) -> K, random: &mut impl Rng) {
    let mut alike: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (place, one) in batch.iter().enumerate() {
        alike.entry(key(one)).or_default().push(place);
    }
    for places in alike.values() {
        let mut rewards: Vec<f32> = places.iter().map(|&place| batch[place].1.reward).collect();
        rewards.shuffle(random);
        for (&place, reward) in places.iter().zip(rewards) {
            batch[place].1.reward = reward;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::seed::stream;

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
        // Centred: (1, −0.5) has mean 0.25, so ±0.75; (−1, −1) gives 0, 0; a group of one keeps its reward, 0.875.
        let batch =
            [sampled(1.0, 0, 4), sampled(-0.5, 0, 4), sampled(-1.0, 1, 4), sampled(-1.0, 1, 4), sampled(0.875, 2, 4)];
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
        let batch =
            [(0, sampled(1.0, 0, 1)), (1, sampled(-1.0, 1, 1)), (0, sampled(0.0, 2, 1)), (1, sampled(-1.0, 3, 1))];
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

    /// numpy: `(x - x.mean()) / (x.std(ddof=1) + 1e-6)` of each group.
    #[test]
    fn group_relative_advantages_are_numpys() {
        let rewards =
            [(0, vec![1.0, 0.0, 0.0, 1.0, 1.0]), (1, vec![0.25, -0.5, 1.0]), (2, vec![1.0, 1.0, 1.0]), (3, vec![0.7])];
        let batch: Vec<Sampled> = rewards
            .into_iter()
            .flat_map(|(group, rewards)| rewards.into_iter().map(move |reward| sampled(reward, group, 1)))
            .collect();
        let divided =
            [0.7302954, -1.095443, -1.095443, 0.7302954, 0.7302954, 0.0, -0.9999987, 0.9999987, 0.0, 0.0, 0.0, 0.0];
        assert_near(&group_relative(&batch, true), &divided);
        let centred = [0.4, -0.6, -0.6, 0.4, 0.4, 0.0, -0.75, 0.75, 0.0, 0.0, 0.0, 0.0];
        assert_near(&group_relative(&batch, false), &centred);
        assert!(group_relative(&[], true).is_empty());
    }

    proptest! {
        #[test]
        fn group_relative_advantages_depend_on_the_group_alone(
            rewards in proptest::collection::vec((-1.0_f32..1.0, 0_u32..4), 1..40),
            shift in -2.0_f32..2.0,
        ) {
            let batch: Vec<_> = rewards.iter().map(|&(reward, group)| sampled(reward, group, 1)).collect();
            let advantages = group_relative(&batch, true);
            for group in 0..4 {
                let own = |at: &usize| batch[*at].group == group;
                let places: Vec<usize> = (0..batch.len()).filter(own).collect();
                let alone: Vec<_> = places.iter().map(|&at| batch[at]).collect();
                let of_group: Vec<f32> = places.iter().map(|&at| advantages[at]).collect();
                prop_assert_eq!(&group_relative(&alone, true), &of_group);
                prop_assert!(of_group.iter().sum::<f32>().abs() < 1e-3);
                for pair in places.windows(2) {
                    let (a, b) = (pair[0], pair[1]);
                    prop_assert!(batch[a].reward < batch[b].reward || advantages[a] >= advantages[b]);
                }
            }
            let moved: Vec<_> = batch.iter().map(|one| sampled(one.reward + shift, one.group, 1)).collect();
            for (still, moved) in group_relative(&batch, false).iter().zip(group_relative(&moved, false)) {
                prop_assert!((still - moved).abs() < 1e-5);
            }
        }

        #[test]
        fn groups_of_equal_rewards_get_exactly_nothing(
            groups in proptest::collection::vec((-10.0_f32..10.0, 1_usize..70), 1..8), divide: bool
        ) {
            let batch: Vec<_> = (0..)
                .zip(&groups)
                .flat_map(|(group, &(reward, size))| vec![sampled(reward, group, 3); size])
                .collect();
            prop_assert!(group_relative(&batch, divide).iter().all(|advantage| *advantage == 0.0));
        }

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

    #[test]
    fn each_estimator_is_read_by_its_name_and_gives_its_own_advantages() {
        let batch = [(0, 1.0, 0), (1, 0.0, 0), (1, 0.5, 1), (0, 1.0, 1)].map(|(task, reward, group)| {
            let sampled = Sampled { reward, group, tokens: 1 };
            (task, sampled)
        });
        let half = 0.5_f32.sqrt();
        for (config, wanted) in [
            (json!({}), [half, -half, -half, half]),
            (json!({ "divide_by_std": false }), [0.5, -0.5, -0.25, 0.25]),
            (json!({ "estimator": "reinforce_plus_plus" }), [0.78335, -1.30558, -0.26112, 0.78335]),
            (json!({ "estimator": "reinforce_plus_plus_baseline" }), [1.09545, -1.09545, -0.54772, 0.54772]),
            (json!({ "estimator": "task_relative_reinforce_plus_plus" }), [0.0, -half, half, 0.0]),
        ] {
            let read: AdvantageConfig = serde_json::from_value(config.clone()).unwrap();
            for (given, wanted) in read.advantages(&batch).iter().zip(wanted) {
                assert!((given - wanted).abs() < 1e-5, "{config}: {given} is not {wanted}");
            }
        }
    }

    fn batch(rewards: &[(u8, f32)]) -> Vec<(u8, Sampled)> {
        let sampled = |(group, &(task, reward)): (u32, &(u8, f32))| {
            let sampled = Sampled { reward, group, tokens: group + 1 };
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
            shuffle_rewards(&mut after, |(task, _)| *task, &mut stream(seed, "rewards", 0));
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
    fn within_a_group_each_prompt_keeps_its_rewards() {
        let of = |group, reward| ((), sampled(reward, group, 1));
        let before = [of(0, 1.0), of(0, 0.0), of(1, 1.0), of(1, 1.0), of(0, 0.0)];
        let mut orders = std::collections::BTreeSet::new();
        for item in 0..40 {
            let mut after = before;
            shuffle_rewards(&mut after, |((), sampled)| sampled.group, &mut stream(3, "rewards", item));
            let rewards = after.map(|((), sampled)| sampled.reward as u8);
            assert_eq!((rewards[0] + rewards[1] + rewards[4], rewards[2], rewards[3]), (1, 1, 1));
            orders.insert(rewards);
        }
        assert_eq!(orders.len(), 3, "the one right answer is any of the three");
    }

    #[test]
    fn every_reward_reaches_every_place_equally_often() {
        let before = batch(&[(0, 1.0), (0, 2.0), (0, 3.0), (1, 9.0)]);
        let mut counts = [[0_u32; 3]; 3];
        for item in 0..3000 {
            let mut after = before.clone();
            shuffle_rewards(&mut after, |(task, _)| *task, &mut stream(7, "rewards", item));
            for (place, reward) in rewards_of(0, &after).into_iter().enumerate() {
                counts[place][reward as usize - 1] += 1;
            }
            assert_eq!(rewards_of(1, &after), [9.0]);
        }
        // 1000 ± 26 each; four deviations.
        assert!(counts.iter().flatten().all(|count| count.abs_diff(1000) < 104), "{counts:?}");
    }
}
