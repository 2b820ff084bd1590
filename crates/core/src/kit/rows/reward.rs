//! What an answer to a row earns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::judge::{self, JudgeConfig};
use crate::artifact::Digest;
use crate::config::pointer_token;
use crate::fault::Fault;
use crate::verify::{Verdict, is_part_name};
use crate::work::FinishReason;

/// The reward of an answer: what its solution earns, minus a penalty if there is no solution in it. An attempt's
/// `reward_parts` name both parts, and its reward is their sum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RewardConfig {
    /// What a solution earns, from 0 to 1.
    pub solution: SolutionReward,
    /// Subtracted from the reward of an answer in which no solution is found; `format` in `reward_parts`. With 0, such
    /// an answer is worth as much as a wrong one.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub format_penalty: f32,
    /// Weights of the parts by name: those that a reward of one's own gives, `judge`, and the solution's, `correct`,
    /// `tests_passed` or `finished`; 1 for a part that is not named. Rows with a reward of one's own earn the weighted sum of its parts, and
    /// neither `solution` nor `format_penalty` applies to them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// A model that scores answers too; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<JudgeConfig>,
}

/// The largest weight of a part.
const MAX_WEIGHT: f64 = 1000.0;

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
    /// A control for studies: 1 if the model ended the answer itself, within the limit of tokens, and a solution was found in
    /// it, right or wrong; else 0. A gain that it brings as well does not come from verdicts.
    Finished,
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
    /// The reward of an answer that ended for this reason, whose solution got `verdict`, and which a judge scored; `None` is an answer
    /// without a solution, or without a judge.
    pub fn reward(&self, finish: FinishReason, verdict: Option<&Verdict>, score: Option<f64>) -> Reward {
        let mut parts: BTreeMap<String, f64> = match verdict.and_then(|verdict| verdict.parts.as_ref()) {
            Some(own) => own.clone(),
            None => {
                let name: &'static str = self.solution.into();
                let earned = verdict.map_or(0.0, |verdict| match self.solution {
                    SolutionReward::Correct => f32::from(u8::from(verdict.correct == Some(true))),
                    SolutionReward::TestsPassed => verdict.share_passed(),
                    SolutionReward::Finished => f32::from(u8::from(finish == FinishReason::Stop)),
                });
                let format = if verdict.is_some() { 0.0 } else { -self.format_penalty };
                let format = (self.format_penalty > 0.0).then(|| ("format".to_owned(), f64::from(format)));
                [(name.to_owned(), f64::from(earned))].into_iter().chain(format).collect()
            }
        };
        if let Some(score) = score {
            *parts.entry(judge::PART.to_owned()).or_default() += score;
        }
        for (name, part) in &mut parts {
            *part *= self.weights.get(name).copied().unwrap_or(1.0);
        }
        Reward { total: parts.values().sum::<f64>() as f32, parts: json!(parts) }
    }

    /// The weights of the judge.
    pub(crate) fn held(&self) -> Vec<Digest> {
        let from = self.judge.as_ref().and_then(|judge| judge.from.as_ref());
        from.and_then(|from| from.artifact).into_iter().collect()
    }

    /// Fills in the judge's templates. Refuses them, and weights that are no numbers to multiply with; `at` is the pointer of this
    /// config.
    pub(crate) fn resolve(&mut self, at: &str) -> Vec<Fault> {
        let judge = self.judge.as_mut();
        let mut faults = judge.map_or_else(Vec::new, |judge| judge.resolve(&format!("{at}/judge")));
        faults.extend(self.weight_faults(at));
        faults
    }

    fn weight_faults(&self, at: &str) -> Vec<Fault> {
        let faults = self.weights.iter().filter_map(|(name, weight)| {
            let detail = match is_part_name(name) {
                false => "no part has such a name: a letter, then letters, digits or _, 40 at most".to_owned(),
                true if weight.is_finite() && weight.abs() <= MAX_WEIGHT => return None,
                true => format!("{weight} is no weight: -{MAX_WEIGHT} to {MAX_WEIGHT} is valid"),
            };
            Some(Fault::new(format!("{at}/weights/{}", pointer_token(name)), detail))
        });
        faults.collect()
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
        let rewards = answers.iter().map(|answer| config.reward(FinishReason::Stop, answer.as_ref(), None));
        rewards.map(|reward| (reward.total, reward.parts)).collect()
    }

    #[test]
    fn parts_of_a_reward_are_weighted() {
        let config: RewardConfig =
            serde_json::from_value(json!({"weights": {"brief": -0.5}, "format_penalty": 1.0})).unwrap();
        let scored = |parts: &[(&str, f64)]| Verdict {
            parts: Some(parts.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()),
            ..verdict(false, None)
        };
        let reward = config.reward(FinishReason::Stop, Some(&scored(&[("right", 2.0), ("brief", 3.0)])), None);
        assert_eq!((reward.total, reward.parts), (0.5, json!({"right": 2.0, "brief": -1.5})));
        let unscored = config.reward(FinishReason::Stop, Some(&scored(&[])), None);
        assert_eq!((unscored.total, unscored.parts), (0.0, json!({})), "it could not be scored");
        let wrong: RewardConfig = serde_json::from_value(json!({"weights": {"a b": 1.0, "c": 1e9}})).unwrap();
        let pointers: Vec<String> = wrong.weight_faults("/reward").into_iter().map(|fault| fault.pointer).collect();
        assert_eq!(pointers, ["/reward/weights/a b", "/reward/weights/c"]);
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
            [both(1.0, 0.0), both(0.75, 0.0), both(1.0, 0.0), both(0.0, 0.0), both(0.0, 0.0), both(0.0, -0.5)]
        );
        let finished = |reward: f32| (reward, json!({ "finished": reward }));
        let control = json!({"solution": "finished"});
        assert_eq!(rewards(control.clone()), [1.0, 1.0, 1.0, 1.0, 1.0, 0.0].map(finished), "right or wrong");
        let control: RewardConfig = serde_json::from_value(control).unwrap();
        assert_eq!(control.reward(FinishReason::Length, Some(&verdict(true, None)), None).total, 0.0, "it was cut");
        let wrong = rewards(json!({"format_penalty": 1.0}));
        assert_eq!(wrong[3].0, 0.0, "a wrong solution is not a missing one");
        assert_eq!(wrong[5], (-1.0, json!({"correct": 0.0, "format": -1.0})));
    }
}
