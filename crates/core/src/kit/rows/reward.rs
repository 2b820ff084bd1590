//! The reward of an answer to a row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::verify::Verdict;

/// The reward of an answer: what its solution earns, minus a penalty if there is no solution in it. An attempt's
/// `reward_parts` name both parts, and its reward is their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RewardConfig {
    /// What a solution earns, from 0 to 1.
    pub solution: SolutionReward,
    /// Subtracted from the reward of an answer in which no solution is found; `format` in `reward_parts`. With 0, such
    /// an answer is worth as much as a wrong one.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub format_penalty: f32,
}

/// What a solution earns; also the name of this part of the reward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SolutionReward {
    /// 1 if it is correct, else 0 (GASP, section 3.1).
    #[default]
    Correct,
    /// The share of the row's tests that it passes. Without tests (mathematics, the output or input of a program) 1 if
    /// it is correct, else 0.
    TestsPassed,
}

/// A reward and its parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Reward {
    /// Their sum.
    pub total: f32,
    /// The parts, by name.
    pub parts: Value,
}

impl RewardConfig {
    /// The reward of an answer whose solution got `verdict`; `None` is an answer without a solution.
    pub fn reward(self, verdict: Option<&Verdict>) -> Reward {
        let name: &'static str = self.solution.into();
        let earned = verdict.map_or(0.0, |verdict| match self.solution {
            SolutionReward::Correct => f32::from(u8::from(verdict.correct == Some(true))),
            SolutionReward::TestsPassed => verdict.share_passed(),
        });
        let mut parts = json!({ name: earned });
        let mut total = earned;
        if self.format_penalty > 0.0 {
            let format = if verdict.is_some() { 0.0 } else { -self.format_penalty };
            parts["format"] = json!(format);
            total += format;
        }
        Reward { total, parts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Status;

    fn verdict(correct: bool, tests: Option<(usize, usize)>) -> Verdict {
        Verdict {
            correct: Some(correct),
            passed: tests.map(|(passed, _)| passed),
            total: tests.map(|(_, total)| total),
            ..Verdict::bare(None, Status::Ok, "")
        }
    }

    fn rewards(config: Value) -> Vec<(f32, Value)> {
        let config: RewardConfig = serde_json::from_value(config).unwrap();
        let answers = [
            Some(verdict(true, Some((4, 4)))),
            Some(verdict(false, Some((3, 4)))),
            Some(verdict(true, None)),
            Some(verdict(false, None)),
            Some(verdict(false, Some((0, 0)))),
            None,
        ];
        let rewards = answers.iter().map(|answer| config.reward(answer.as_ref()));
        rewards.map(|reward| (reward.total, reward.parts)).collect()
    }

    #[test]
    fn rewards_by_hand() {
        let correct = |reward: f32| (reward, json!({ "correct": reward }));
        assert_eq!(rewards(json!({})), [1.0, 0.0, 1.0, 0.0, 0.0, 0.0].map(correct));
        let passed = |reward: f32| (reward, json!({ "tests_passed": reward }));
        let shares = rewards(json!({"solution": "tests_passed"}));
        assert_eq!(shares, [1.0, 0.75, 1.0, 0.0, 0.0, 0.0].map(passed));
        let both = |earned: f32, format: f32| (earned + format, json!({ "tests_passed": earned, "format": format }));
        assert_eq!(
            rewards(json!({"solution": "tests_passed", "format_penalty": 0.5})),
            [
                both(1.0, 0.0),
                both(0.75, 0.0),
                both(1.0, 0.0),
                both(0.0, 0.0),
                both(0.0, 0.0),
                both(0.0, -0.5)
            ]
        );
        let wrong = rewards(json!({"format_penalty": 1.0}));
        assert_eq!(wrong[3].0, 0.0, "a wrong solution is not a missing one");
        assert_eq!(wrong[5], (-1.0, json!({"correct": 0.0, "format": -1.0})));
    }
}
