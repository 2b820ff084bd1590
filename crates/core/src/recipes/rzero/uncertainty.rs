//! The proposer's reward.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    kit::{Band, rows::Reward},
    vote::Vote,
};

/// What a proposal earns. The parts are named in an outcome's `reward_parts`, and the reward is their sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UncertaintyConfig {
    /// A question earns `uncertainty` = min(p, 1 − p), where p is the share of the solver's answers that agree with the
    /// majority, if p is within this band (arXiv 2604.03472, Eq. 2), else 0. [0, 1] is R-Zero's code, which has no band.
    pub band: Band,
    /// What repeating others costs (R-Zero).
    pub repetition: Repetition,
    /// Earned by a proposal without a readable question and answer: 0 in arXiv 2604.03472 (Algorithm 1), −1 in R-Zero's
    /// code. `format` in `reward_parts`.
    #[schemars(range(min = -10.0, max = 0.0))]
    pub unreadable: f32,
}

impl Default for UncertaintyConfig {
    fn default() -> Self {
        Self {
            band: Band([0.3, 0.7]),
            repetition: Repetition::default(),
            unreadable: 0.0,
        }
    }
}

/// The penalty of repeated wordings: every proposal of a step loses the share of its proposer's proposals that are in its
/// cluster (`repetition` in `reward_parts`). Clusters are those of average linkage of the distances 1 − BLEU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Repetition {
    /// The penalty's weight; 0 for none, as in Algorithm 1 of arXiv 2604.03472, whose text keeps R-Zero's penalty.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub weight: f32,
    /// Clusters merge while their distance is below this.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub distance: f64,
}

impl Default for Repetition {
    fn default() -> Self {
        Self {
            weight: 1.0,
            distance: 0.5,
        }
    }
}

impl UncertaintyConfig {
    /// The reward of a proposal with this vote (`None` without one) that is among `share` of the proposals. `is_read`:
    /// whether it has a question and an answer.
    pub(super) fn reward(&self, is_read: bool, vote: Option<Vote>, share: f32) -> Reward {
        let uncertainty = match vote {
            Some(vote) if self.band.has(vote.count, vote.of) => vote.share().min(1.0 - vote.share()),
            _ => 0.0,
        };
        let repetition = -self.repetition.weight * share;
        let format = if is_read { 0.0 } else { self.unreadable };
        Reward {
            total: uncertainty + repetition + format,
            parts: json!({"uncertainty": uncertainty, "repetition": repetition, "format": format}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vote(count: u32, of: u32) -> Vote {
        Vote {
            winner: 0,
            label: 0,
            count,
            of,
        }
    }

    #[test]
    fn rewards_by_hand() {
        let config = UncertaintyConfig {
            unreadable: -1.0,
            ..UncertaintyConfig::default()
        };
        let total = |is_read, vote, share| config.reward(is_read, vote, share).total;
        assert!((total(true, Some(vote(6, 10)), 0.25) - 0.15).abs() < 1e-6);
        assert!((total(true, Some(vote(3, 10)), 0.0) - 0.3).abs() < 1e-6);
        assert_eq!(total(true, Some(vote(8, 10)), 0.0), 0.0, "outside of the band");
        assert_eq!(total(true, None, 0.5), -0.5, "nobody answered");
        assert_eq!(total(false, None, 0.25), -1.25);
        let free = UncertaintyConfig {
            band: Band([0.0, 1.0]),
            ..config
        };
        assert!((free.reward(true, Some(vote(8, 10)), 0.0).total - 0.2).abs() < 1e-6);
    }
}
