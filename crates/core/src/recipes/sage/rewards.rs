//! What each role earns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::fault::Fault;
use crate::kit::rows::Reward;

/// How far from 1 the sum of weights may be, so that rounded thirds are valid.
const ROUNDING: f64 = 0.002;

/// The weights of the parts of each role's reward; those of one reward sum to 1. A reward is the sum of its weighted
/// parts, which `reward_parts` names. The critic's reward is its format alone (Eq. 13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RewardWeights {
    /// The challenger's, for a task that joins the growing set (Eq. 5).
    pub admitted: AdmittedWeights,
    /// The challenger's, for any other task (Eq. 6).
    pub rejected: QualityWeights,
    /// The planner's (Eq. 8).
    pub planner: QualityWeights,
    /// The solver's (Eq. 11).
    pub solver: SolverWeights,
    /// The solver's in a run without planning (section 4.4).
    pub solver_without_planning: CorrectnessWeights,
}

/// Weights of a task that joins the growing set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdmittedWeights {
    /// Of the critic's score.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub quality: f64,
    /// Of the share of wrong answers without a plan.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub difficulty: f64,
    /// Of the format.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub format: f64,
}

/// Weights of a plan, or of a task that does not join the growing set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QualityWeights {
    /// Of the critic's score.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub quality: f64,
    /// Of the format.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub format: f64,
}

/// Weights of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SolverWeights {
    /// Of the score of the plan that was shown; without a plan this part is 0.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub plan: f64,
    /// Of a correct answer.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub correct: f64,
    /// Of the format.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub format: f64,
}

/// Weights of an answer in a run without planning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CorrectnessWeights {
    /// Of a correct answer.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub correct: f64,
    /// Of the format.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub format: f64,
}

impl Default for AdmittedWeights {
    fn default() -> Self {
        let third = 1.0 / 3.0;
        Self { quality: third, difficulty: third, format: third }
    }
}

impl Default for QualityWeights {
    fn default() -> Self {
        Self { quality: 0.5, format: 0.5 }
    }
}

impl Default for SolverWeights {
    fn default() -> Self {
        Self { plan: 0.2, correct: 0.6, format: 0.2 }
    }
}

impl Default for CorrectnessWeights {
    fn default() -> Self {
        Self { correct: 0.5, format: 0.5 }
    }
}

/// A part of a reward: its name, weight and value.
type Part = (&'static str, f64, f32);

/// The sum of weighted parts.
fn sum(parts: &[Part]) -> Reward {
    let (mut total, mut named) = (0.0, Map::new());
    for (name, weight, value) in parts {
        let part = (weight * f64::from(*value)) as f32;
        total += part;
        named.insert((*name).to_owned(), json!(part));
    }
    Reward { total, parts: Value::Object(named) }
}

impl RewardWeights {
    /// A challenge's reward. `difficulty` is that of a task that joins the growing set, and `None` for any other.
    pub(super) fn challenge(&self, quality: f32, difficulty: Option<f32>, format: f32) -> Reward {
        match difficulty {
            Some(difficulty) => sum(&[
                ("quality", self.admitted.quality, quality),
                ("difficulty", self.admitted.difficulty, difficulty),
                ("format", self.admitted.format, format),
            ]),
            None => self.rejected.reward(quality, format),
        }
    }

    /// A plan's reward.
    pub(super) fn plan(&self, quality: f32, format: f32) -> Reward {
        self.planner.reward(quality, format)
    }

    /// An answer's reward. `plan` is the score of the plan that was shown.
    pub(super) fn answer(&self, plan: Option<f32>, is_correct: bool, format: f32) -> Reward {
        sum(&[
            ("plan", self.solver.plan, plan.unwrap_or(0.0)),
            ("correct", self.solver.correct, one_if(is_correct)),
            ("format", self.solver.format, format),
        ])
    }

    /// An answer's reward in a run without planning.
    pub(super) fn answer_without_planning(&self, is_correct: bool, format: f32) -> Reward {
        let weights = self.solver_without_planning;
        sum(&[("correct", weights.correct, one_if(is_correct)), ("format", weights.format, format)])
    }

    /// A score's reward.
    pub(super) fn critique(format: f32) -> Reward {
        sum(&[("format", 1.0, format)])
    }

    /// Faults of weights that do not sum to 1; `pointer` is that of the group in the config.
    pub(super) fn faults(&self, pointer: &str) -> Vec<Fault> {
        let Self { admitted, rejected, planner, solver, solver_without_planning: plain } = self;
        let groups = [
            ("admitted", vec![admitted.quality, admitted.difficulty, admitted.format]),
            ("rejected", vec![rejected.quality, rejected.format]),
            ("planner", vec![planner.quality, planner.format]),
            ("solver", vec![solver.plan, solver.correct, solver.format]),
            ("solver_without_planning", vec![plain.correct, plain.format]),
        ];
        let wrong = groups
            .into_iter()
            .map(|(name, weights)| (name, weights.iter().sum::<f64>()))
            .filter(|(_, sum)| (sum - 1.0).abs() > ROUNDING);
        let fault = |(name, sum): (&str, f64)| {
            let detail = format!("its weights sum to {sum:.4}: weights that sum to 1 are valid");
            Fault::new(format!("{pointer}/{name}"), detail)
        };
        wrong.map(fault).collect()
    }
}

impl QualityWeights {
    fn reward(self, quality: f32, format: f32) -> Reward {
        sum(&[("quality", self.quality, quality), ("format", self.format, format)])
    }
}

fn one_if(is_so: bool) -> f32 {
    f32::from(u8::from(is_so))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_reward(reward: &Reward, total: f32, parts: &[(&str, f32)]) {
        assert!((reward.total - total).abs() < 1e-6, "{reward:?} is not {total}");
        assert_eq!(reward.parts.as_object().unwrap().len(), parts.len(), "{reward:?}");
        for (name, value) in parts {
            let found = reward.parts[name].as_f64().unwrap() as f32;
            assert!((found - value).abs() < 1e-6, "{name} of {reward:?}");
        }
    }

    #[test]
    fn rewards_of_the_paper_by_hand() {
        let weights = RewardWeights::default();
        let third = 1.0 / 3.0;
        assert_reward(
            &weights.challenge(0.75, Some(0.6), 1.0),
            (0.75 + 0.6 + 1.0) / 3.0,
            &[("quality", 0.25), ("difficulty", 0.2), ("format", third)],
        );
        assert_reward(&weights.challenge(0.5, None, 1.0), 0.75, &[("quality", 0.25), ("format", 0.5)]);
        assert_reward(&weights.plan(0.25, 0.5), 0.375, &[("quality", 0.125), ("format", 0.25)]);
        assert_reward(&weights.answer(Some(0.5), true, 1.0), 0.9, &[("plan", 0.1), ("correct", 0.6), ("format", 0.2)]);
        assert_reward(&weights.answer(None, true, 0.5), 0.7, &[("plan", 0.0), ("correct", 0.6), ("format", 0.1)]);
        assert_reward(&weights.answer_without_planning(false, 0.5), 0.25, &[("correct", 0.0), ("format", 0.25)]);
        assert_reward(&RewardWeights::critique(0.5), 0.5, &[("format", 0.5)]);
        // A task that nobody solved earns the whole difficulty, however ill-posed it is.
        assert_reward(
            &weights.challenge(1.0, Some(1.0), 1.0),
            1.0,
            &[("quality", third), ("difficulty", third), ("format", third)],
        );
    }

    #[test]
    fn weights_sum_to_1() {
        let read = |value: Value| serde_json::from_value::<RewardWeights>(value).unwrap();
        assert!(RewardWeights::default().faults("/r").is_empty());
        let rounded = json!({"admitted": {"quality": 0.333, "difficulty": 0.333, "format": 0.333}});
        assert!(read(rounded).faults("/r").is_empty());
        let faults = read(json!({"solver": {"plan": 0.3}, "planner": {"quality": 0.4}})).faults("/r");
        let found: Vec<String> = faults.iter().map(Fault::to_string).collect();
        assert_eq!(
            found,
            [
                "/r/planner: its weights sum to 0.9000: weights that sum to 1 are valid",
                "/r/solver: its weights sum to 1.1000: weights that sum to 1 are valid"
            ]
        );
    }
}
