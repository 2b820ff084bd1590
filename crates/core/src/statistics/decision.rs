//! Decisions from effects.

use serde::{Deserialize, Serialize};

use super::Effect;

/// A study's expectation of the first arm, stated beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// It exceeds the other by more than this.
    Higher(f64),
    /// It falls short of the other by more than this.
    Lower(f64),
    /// It does not exceed the other.
    NotHigher,
}

impl Expectation {
    /// The difference beyond which it appears.
    pub fn bound(self) -> f64 {
        match self {
            Self::Higher(by) => by,
            Self::Lower(by) => -by,
            Self::NotHigher => 0.0,
        }
    }
}

/// How an expectation turned out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Appears,
    Refuted,
    NotRefuted,
    Undecided,
}

impl Outcome {
    /// By the interval of 95 %.
    pub fn of(expectation: Expectation, effect: &Effect) -> Self {
        let (low, high, by) = match expectation {
            Expectation::Higher(by) => (effect.low, effect.high, by),
            Expectation::Lower(by) => (-effect.high, -effect.low, by),
            Expectation::NotHigher if effect.low > 0.0 => return Self::Refuted,
            Expectation::NotHigher => return Self::NotRefuted,
        };
        match (low > by, high < by) {
            (true, _) => Self::Appears,
            (_, true) => Self::Refuted,
            _ => Self::Undecided,
        }
    }
}

/// Which of several hypotheses are rejected together at `level` (Holm 1979): the smallest p must be at most `level / m`, the
/// next at most `level / (m − 1)`, and so on until one is not.
pub fn holm(p_values: &[f64], level: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut rejected = vec![false; p_values.len()];
    for (rank, place) in order.into_iter().enumerate() {
        if p_values[place] > level / (p_values.len() - rank) as f64 {
            break;
        }
        rejected[place] = true;
    }
    rejected
}
