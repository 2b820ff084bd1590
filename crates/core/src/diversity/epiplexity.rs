//! Epiplexity: how much structure of texts an observer can learn (arXiv 2601.03220; arXiv 2604.03472, appendix E.4).

use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

/// The losses of an observer that learns texts, in nats, summed over tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObserverLosses {
    /// Loss of each batch of the first pass just before the observer learned from it: the prequential code length.
    pub online: f64,
    /// Tokens of the texts.
    pub tokens: u64,
    /// Tokens of the validation texts.
    pub validation_tokens: u64,
    /// After each pass, the loss on the texts and on the validation texts.
    pub passes: Vec<[f64; 2]>,
}

/// The epiplexity of texts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Epiplexity {
    /// Loss while learning minus the loss once learned, in bits over all texts.
    pub bits: f64,
    /// The same per token.
    pub per_token: f64,
    /// The pass after which the texts count as learned, from 1.
    pub pass: u32,
}

impl ObserverLosses {
    /// Whether the loss on the validation texts has not fallen for `patience` passes.
    pub fn has_converged(&self, patience: u32) -> bool {
        let losses = || self.passes.iter().map(|[_, validation]| *validation);
        let lowest = losses().fold(f64::INFINITY, f64::min);
        let at = losses().position(|loss| loss <= lowest).unwrap_or(0);
        self.passes.len() > at + patience as usize
    }

    /// (L_online − L_train) / ln 2, after the pass that minimises the description length of a token: epiplexity / N_train
    /// + L_validation / (ln 2 · N_validation). `None` without tokens or passes.
    pub fn epiplexity(&self) -> Option<Epiplexity> {
        if self.tokens == 0 || self.validation_tokens == 0 {
            return None;
        }
        let (tokens, validation_tokens) = (self.tokens as f64, self.validation_tokens as f64);
        let after = (1..).zip(&self.passes).map(|(pass, [train, validation])| {
            let bits = (self.online - train) / LN_2;
            let length = bits / tokens + validation / (LN_2 * validation_tokens);
            (length, pass, bits)
        });
        let best = after.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let (_, pass, bits) = best;
        Some(Epiplexity {
            bits,
            per_token: bits / tokens,
            pass,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(passes: &[[f64; 2]]) -> ObserverLosses {
        ObserverLosses {
            online: 900.0,
            tokens: 300,
            validation_tokens: 40,
            passes: passes.to_vec(),
        }
    }

    /// Computed with Python: `bits = (900 - train) / math.log(2)` and
    /// `min(range(4), key=lambda e: bits[e] / 300 + val[e] / (math.log(2) * 40))`.
    #[test]
    fn the_pass_with_the_shortest_description_counts() {
        let found = losses(&[[700.0, 100.0], [500.0, 60.0], [300.0, 45.0], [200.0, 44.0]]);
        let found = found.epiplexity().unwrap();
        assert_eq!(found.pass, 2);
        assert!((found.bits - 577.078_016_355_585_4).abs() < 1e-9, "{}", found.bits);
        assert!((found.per_token - 1.923_593_387_851_951_3).abs() < 1e-12);
        assert_eq!(losses(&[]).epiplexity(), None);
        let none = ObserverLosses {
            tokens: 0,
            ..losses(&[[1.0, 1.0]])
        };
        assert_eq!(none.epiplexity(), None);
    }

    #[test]
    fn training_ends_when_validation_stops_falling() {
        let falling = losses(&[[9.0, 9.0], [8.0, 8.0], [7.0, 7.0]]);
        assert!(!falling.has_converged(1));
        let risen = losses(&[[9.0, 9.0], [8.0, 8.0], [7.0, 8.5], [6.0, 8.0]]);
        assert!(risen.has_converged(2) && !risen.has_converged(3));
        assert!(!losses(&[]).has_converged(1));
        assert!(losses(&[[1.0, f64::NAN], [1.0, f64::NAN]]).has_converged(1));
    }
}
