//! Advantage settings of a config.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Sampled, Whitening, group_relative, reinforce_plus_plus, reinforce_plus_plus_baseline,
    task_relative_reinforce_plus_plus,
};

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
        Self {
            estimator: Estimator::default(),
            divide_by_std: true,
            whitening: Whitening::default(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_estimator_is_read_by_its_name_and_gives_its_own_advantages() {
        let batch = [(0, 1.0, 0), (1, 0.0, 0), (1, 0.5, 1), (0, 1.0, 1)].map(|(task, reward, group)| {
            let sampled = Sampled {
                reward,
                group,
                tokens: 1,
            };
            (task, sampled)
        });
        let half = 0.5_f32.sqrt();
        for (config, wanted) in [
            (json!({}), [half, -half, -half, half]),
            (json!({ "divide_by_std": false }), [0.5, -0.5, -0.25, 0.25]),
            (
                json!({ "estimator": "reinforce_plus_plus" }),
                [0.78335, -1.30558, -0.26112, 0.78335],
            ),
            (
                json!({ "estimator": "reinforce_plus_plus_baseline" }),
                [1.09545, -1.09545, -0.54772, 0.54772],
            ),
            (
                json!({ "estimator": "task_relative_reinforce_plus_plus" }),
                [0.0, -half, half, 0.0],
            ),
        ] {
            let read: AdvantageConfig = serde_json::from_value(config.clone()).unwrap();
            for (given, wanted) in read.advantages(&batch).iter().zip(wanted) {
                assert!((given - wanted).abs() < 1e-5, "{config}: {given} is not {wanted}");
            }
        }
    }
}
