//! The loss of one token and its derivative, in f64 on the host; work of the size of the vocabulary stays on the
//! device.

use std::ops::Range;

use lyceum_core::work::{Loss, LossAggregation};

use super::rows::TrainingSequence;

/// Log-ratios are clamped to this before the exponential, so that one outlier cannot overflow.
const LARGEST_LOG_RATIO: f64 = 20.0;
/// The KL estimate of one token is capped at this.
const LARGEST_KL: f64 = 10.0;

/// The inputs of one token's loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TokenScores {
    /// Log-probability under the policy being trained.
    pub(super) logprob: f64,
    /// Log-probability under the old policy.
    pub(super) old_logprob: f64,
    /// Log-ratio of the trainer's policy before the first step to the sampler's; 0 if it is not known.
    pub(super) log_importance: f64,
    /// Log-probability under the KL reference policy.
    pub(super) reference_logprob: Option<f64>,
    /// The sequence's advantage.
    pub(super) advantage: f64,
}

/// One token's contribution to the loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TokenLoss {
    /// The loss without entropy and KL terms.
    pub(super) loss: f64,
    /// Derivative of the loss, including its KL term, with respect to the log-probability.
    pub(super) by_logprob: f64,
    /// Ratio of the policy to the old one.
    pub(super) ratio: f64,
    /// Whether clipping removed the gradient.
    pub(super) clipped: bool,
    /// Whether the importance weight was truncated.
    pub(super) capped: bool,
    /// The KL estimate, before its weight.
    pub(super) kl: f64,
}

/// Derivative of the loss with respect to the entropy of a token's distribution, before the token's weight.
pub(super) fn by_entropy(loss: &Loss) -> f64 {
    match loss {
        Loss::PolicyGradient(rule) => -rule.entropy,
        Loss::CrossEntropy => 0.0,
    }
}

/// The loss of one token.
///
/// With ratio ρ = π/π_old and advantage A: `max(−Aρ, −A·clip(ρ, 1 − clip_low, 1 + clip_high))` (PPO, arXiv
/// 1707.06347, Eq. 7, with separate bounds as in DAPO, arXiv 2503.14476, Eq. 8), at most `−A·clip_dual` if A is
/// negative (arXiv 1912.09729, Eq. 5). With `importance_cap` C it is multiplied by `min(π_trainer/π_sampler, C)`, both
/// before the first step, which is a constant in the gradient (truncated importance sampling: Yao et al. 2025). Then the
/// KL estimate `exp(q) − q − 1` is added, with q the log-ratio of the reference to the policy.
pub(super) fn token_loss(loss: &Loss, scores: TokenScores) -> TokenLoss {
    let TokenScores { logprob, old_logprob, log_importance, reference_logprob, advantage } = scores;
    let (log_ratio, inside) = cut(logprob - old_logprob, LARGEST_LOG_RATIO);
    let ratio = log_ratio.exp();
    let Loss::PolicyGradient(rule) = loss else {
        return TokenLoss { loss: -logprob, by_logprob: -1.0, ratio, clipped: false, capped: false, kl: 0.0 };
    };
    let plain = -advantage * ratio;
    let held = -advantage * ratio.clamp(1.0 - rule.clip_low, 1.0 + rule.clip_high);
    let (mut loss, mut clipped) = (plain.max(held), held > plain);
    if let Some(bound) = rule.clip_dual.map(|dual| -advantage * dual).filter(|_| advantage < 0.0)
        && loss > bound
    {
        (loss, clipped) = (bound, true);
    }
    let mut by_logprob = if clipped || !inside { 0.0 } else { plain };
    let mut capped = false;
    if let Some(cap) = rule.importance_cap {
        let weight = cut(log_importance, LARGEST_LOG_RATIO).0.exp();
        capped = weight > cap;
        let weight = if capped { cap } else { weight };
        loss *= weight;
        by_logprob *= weight;
    }
    let mut kl = 0.0;
    if let Some(reference) = reference_logprob {
        let (q, inside) = cut(reference - logprob, LARGEST_LOG_RATIO);
        let estimate = q.exp() - q - 1.0;
        if estimate > LARGEST_KL {
            kl = LARGEST_KL;
        } else {
            kl = estimate;
            if inside {
                by_logprob += rule.kl * (1.0 - q.exp());
            }
        }
    }
    TokenLoss { loss, by_logprob, ratio, clipped, capped, kl }
}

/// Clamps the value to ±`bound` and tells whether it was already inside. NaN stays NaN and counts as inside, so that it
/// shows up in the gradient.
fn cut(value: f64, bound: f64) -> (f64, bool) {
    (value.clamp(-bound, bound), value.is_nan() || value.abs() <= bound)
}

/// How a member's tokens are averaged over a minibatch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Normaliser {
    /// Over this many tokens.
    Tokens(usize),
    /// Over the means of this many sequences.
    Sequences(usize),
    /// Over this number, which is a constant times the number of sequences.
    Constant(f64),
}

impl Normaliser {
    /// One for each member, given the sequences of a minibatch by member.
    pub(super) fn of_members(
        loss: &Loss,
        sequences: &[Vec<TrainingSequence>],
        minibatch: &[(usize, Range<usize>)],
    ) -> Vec<Self> {
        let (aggregation, length) = match loss {
            Loss::PolicyGradient(loss) => (loss.aggregation, loss.constant_length.unwrap_or(1)),
            Loss::CrossEntropy => (LossAggregation::TokenMean, 1),
        };
        let mut normalisers = vec![Self::Tokens(0); sequences.len()];
        for (member, range) in minibatch {
            let sequences = &sequences[*member][range.clone()];
            normalisers[*member] = match aggregation {
                LossAggregation::TokenMean => {
                    Self::Tokens(sequences.iter().map(|sequence| sequence.completion.len()).sum())
                }
                LossAggregation::SequenceMean => Self::Sequences(sequences.len()),
                LossAggregation::Constant => Self::Constant(sequences.len() as f64 * f64::from(length)),
            };
        }
        normalisers
    }

    /// The weight of each token of a completion of `length` tokens.
    pub(super) fn weight(self, length: usize) -> f64 {
        1.0 / match self {
            Self::Tokens(tokens) => tokens as f64,
            Self::Sequences(sequences) => (sequences * length) as f64,
            Self::Constant(number) => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use lyceum_core::work::PolicyLoss;
    use proptest::prelude::*;

    use super::{Loss, TokenScores, token_loss};

    fn scores(ratio: f64, advantage: f64) -> TokenScores {
        TokenScores {
            logprob: ratio.ln() - 1.0,
            old_logprob: -1.0,
            log_importance: 0.0,
            reference_logprob: None,
            advantage,
        }
    }

    #[test]
    fn each_clip_cuts_off_its_side_only() {
        let loss = Loss::PolicyGradient(PolicyLoss::default());
        let clipped = |ratio, advantage| token_loss(&loss, scores(ratio, advantage)).clipped;
        assert_eq!((clipped(1.3, 1.0), clipped(1.27, 1.0), clipped(0.1, 1.0)), (true, false, false));
        assert_eq!((clipped(0.79, -1.0), clipped(0.81, -1.0), clipped(2.9, -1.0)), (true, false, false));
        assert!(clipped(3.1, -1.0), "the dual clip bounds large ratios of bad tokens");
        assert!((token_loss(&loss, scores(9.0, -2.0)).loss - 6.0).abs() < 1e-12);
    }

    #[test]
    fn importance_weights_are_truncated_from_above_only() {
        let loss = Loss::PolicyGradient(PolicyLoss { importance_cap: Some(2.0), ..PolicyLoss::default() });
        let weighted = |importance: f64, ratio, advantage| {
            let scores = TokenScores { log_importance: importance.ln(), ..scores(ratio, advantage) };
            let token = token_loss(&loss, scores);
            (token.loss, token.by_logprob, token.capped)
        };
        let near = |(loss, by_logprob, capped): (f64, f64, bool), wanted: (f64, f64, bool)| {
            assert!((loss - wanted.0).abs() < 1e-12, "{loss} is not {}", wanted.0);
            assert!((by_logprob - wanted.1).abs() < 1e-12, "{by_logprob} is not {}", wanted.1);
            assert_eq!(capped, wanted.2);
        };
        // −A ρ w, which is its own derivative: −1.5 × 1 × 0.25, and −1.5 × 1.1 × min(5, 2).
        near(weighted(0.25, 1.0, 1.5), (-0.375, -0.375, false));
        near(weighted(5.0, 1.1, 1.5), (-3.3, -3.3, true));
        // Clipped: −1.5 × 1.28 × 0.5, without a derivative; the dual clip: 3 × 0.5 × 2.
        near(weighted(0.5, 1.4, 1.5), (-0.96, 0.0, false));
        near(weighted(3.0, 9.0, -0.5), (3.0, 0.0, true));
    }

    #[test]
    fn outliers_stay_finite() {
        let loss = Loss::PolicyGradient(PolicyLoss { clip_dual: None, kl: 1.0, ..PolicyLoss::default() });
        let outlier = TokenScores {
            logprob: -1e4,
            old_logprob: -1.0,
            log_importance: 0.0,
            reference_logprob: Some(-1.0),
            advantage: 1.0,
        };
        let token = token_loss(&loss, outlier);
        assert!(token.loss.is_finite() && token.by_logprob == 0.0 && token.kl == 10.0);
    }

    #[test]
    fn nan_reaches_the_derivative() {
        let loss = Loss::PolicyGradient(PolicyLoss { kl: 0.1, ..PolicyLoss::default() });
        let known = TokenScores { reference_logprob: Some(-1.0), ..scores(1.0, 1.0) };
        let of_reference = token_loss(&loss, TokenScores { reference_logprob: Some(f64::NAN), ..known });
        assert!(of_reference.kl.is_nan() && of_reference.by_logprob.is_nan());
        let of_old = token_loss(&loss, TokenScores { old_logprob: f64::NAN, ..known });
        assert!(of_old.by_logprob.is_nan());
    }

    proptest! {
        #[test]
        fn the_derivative_is_the_slope(
            logprob in -6.0f64..-0.01, old in -6.0f64..-0.01, reference in -6.0f64..-0.01, advantage in -3.0f64..3.0,
            log_importance in -2.0f64..2.0, importance_cap in prop::option::of(1.0f64..3.0),
        ) {
            let loss = Loss::PolicyGradient(PolicyLoss { kl: 0.3, importance_cap, ..PolicyLoss::default() });
            let at = |logprob| {
                let scores = TokenScores {
                    logprob, old_logprob: old, log_importance, reference_logprob: Some(reference), advantage,
                };
                let token = token_loss(&loss, scores);
                (token.loss + 0.3 * token.kl, token)
            };
            let h = 1e-6;
            let ((below, left), (above, right)) = (at(logprob - h), at(logprob + h));
            // The derivative does not exist at a kink.
            prop_assume!(left.clipped == right.clipped && (left.kl < 10.0) == (right.kl < 10.0));
            let slope = (above - below) / (2.0 * h);
            prop_assert!((slope - at(logprob).1.by_logprob).abs() < 1e-4 * (1.0 + slope.abs()));
        }
    }
}
