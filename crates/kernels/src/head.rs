//! Log-probability and entropy of a row of logits, and the gradient with respect to the logits.

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use crate::exp::exp;
use crate::share::{ROWS, share};
use crate::sum::{largest, of_pairs};

/// Log-probabilities below this are left out of the entropy; −∞ would make it NaN.
const LEAST: f32 = -87.0;

/// Scores of a row of logits `z`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Scores {
    /// Log-probability of the row's target.
    pub logprob: f32,
    /// Entropy of the row's distribution, in nats.
    pub entropy: f32,
    /// `ln Σ e^z`.
    normaliser: f32,
}

/// Derivatives of the loss with respect to a row's scores.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Weights {
    /// With respect to the log-probability of the row's target.
    pub by_logprob: f32,
    /// With respect to the entropy of the row's distribution.
    pub by_entropy: f32,
}

/// The scores of rows of `width` logits, each with a target below `width`.
///
/// # Panics
/// If the numbers of rows and targets differ, or a target is out of range.
pub fn scores(threads: usize, width: usize, logits: &[f32], targets: &[i64]) -> Vec<Scores> {
    assert!(logits.len() == targets.len() * width);
    let mut scores = vec![Scores::default(); targets.len()];
    let jobs = logits.chunks(width * ROWS).zip(targets.chunks(ROWS)).zip(scores.chunks_mut(ROWS));
    share(threads, jobs, |((logits, targets), out)| forward(width, logits, targets, out));
    scores
}

/// Replaces the logits with the gradient of the loss with respect to them, given their scores.
///
/// # Panics
/// If the numbers of rows, targets, scores and weights differ, or a target is out of range.
pub fn gradient(
    threads: usize,
    width: usize,
    logits: &mut [f32],
    targets: &[i64],
    scores: &[Scores],
    weights: &[Weights],
) {
    assert!(logits.len() == targets.len() * width && scores.len() == targets.len() && weights.len() == targets.len());
    let rows = targets.chunks(ROWS).zip(scores.chunks(ROWS)).zip(weights.chunks(ROWS));
    let jobs = logits.chunks_mut(width * ROWS).zip(rows);
    share(threads, jobs, |(logits, ((targets, scores), weights))| backward(width, logits, targets, scores, weights));
}

#[multiversion(targets = "simd")]
fn forward(width: usize, logits: &[f32], targets: &[i64], scores: &mut [Scores]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    for ((logits, &target), scores) in logits.chunks_exact(width).zip(targets).zip(scores) {
        let largest = largest(logits);
        let sum = of_pairs(logits, logits, |z, _| exp::<FUSED>(z - largest));
        let normaliser = largest + sum.ln();
        // Σ p z, relative to the largest logit, so that no digits are lost if logits are far from 0.
        let mean = of_pairs(logits, logits, |z, _| exp::<FUSED>(z - largest) * (z - largest).max(LEAST)) / sum;
        *scores = Scores { logprob: logits[target as usize] - normaliser, entropy: sum.ln() - mean, normaliser };
    }
}

#[multiversion(targets = "simd")]
fn backward(width: usize, logits: &mut [f32], targets: &[i64], scores: &[Scores], weights: &[Weights]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    let rows = targets.iter().zip(scores).zip(weights);
    for (logits, ((&target, scores), weights)) in logits.chunks_exact_mut(width).zip(rows) {
        let Weights { by_logprob, by_entropy } = *weights;
        if by_entropy == 0.0 {
            for z in logits.iter_mut() {
                *z = -by_logprob * exp::<FUSED>(*z - scores.normaliser);
            }
        } else {
            // ∂ logprob/∂z = onehot − p and ∂ entropy/∂z = −p (ln p + entropy).
            for z in logits.iter_mut() {
                let logprob = *z - scores.normaliser;
                *z = -exp::<FUSED>(logprob) * (by_logprob + by_entropy * (logprob.max(LEAST) + scores.entropy));
            }
        }
        logits[target as usize] += by_logprob;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{Weights, gradient, scores};

    /// Log-probability of the target and entropy, in f64.
    fn exact(logits: &[f64], target: usize) -> (f64, f64) {
        let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let normaliser = largest + logits.iter().map(|z| (z - largest).exp()).sum::<f64>().ln();
        let entropy = logits.iter().map(|z| -(z - normaliser).exp() * (z - normaliser)).sum();
        (logits[target] - normaliser, entropy)
    }

    proptest! {
        #[test]
        fn scores_and_gradient_are_those_of_softmax(
            (rows, width) in (1usize..100, 1usize..60), threads in 1usize..4, offset in -50.0f32..50.0,
            seed in vec(-6.0f32..6.0, 13..31), by_logprob in -2.0f32..2.0, by_entropy in prop_oneof![Just(0.0f32), -1.0f32..1.0]
        ) {
            let logits: Vec<f32> = seed.iter().map(|z| z + offset).cycle().take(rows * width).collect();
            let targets: Vec<i64> = (0..rows).map(|row| (row * 7 % width) as i64).collect();
            let found = scores(threads, width, &logits, &targets);
            let mut slopes = logits.clone();
            gradient(threads, width, &mut slopes, &targets, &found, &vec![Weights { by_logprob, by_entropy }; rows]);
            for row in [0, rows / 2, rows - 1] {
                let wide: Vec<f64> = logits[row * width..][..width].iter().map(|&z| f64::from(z)).collect();
                let target = targets[row] as usize;
                let (logprob, entropy) = exact(&wide, target);
                prop_assert!((f64::from(found[row].logprob) - logprob).abs() < 1e-4);
                prop_assert!((f64::from(found[row].entropy) - entropy).abs() < 1e-5);
                for at in 0..width {
                    let loss = |h: f64| {
                        let mut logits = wide.clone();
                        logits[at] += h;
                        let (logprob, entropy) = exact(&logits, target);
                        f64::from(by_logprob) * logprob + f64::from(by_entropy) * entropy
                    };
                    let slope = (loss(1e-5) - loss(-1e-5)) / 2e-5;
                    prop_assert!((f64::from(slopes[row * width + at]) - slope).abs() < 2e-5);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_has_no_part_and_nan_spreads_over_its_row_alone() {
        let logits = [0.0, f32::NEG_INFINITY, 0.0, 1.0, f32::NAN, 2.0];
        let found = scores(1, 3, &logits, &[0, 2]);
        assert!((found[0].entropy - 2.0f32.ln()).abs() < 1e-6 && (found[0].logprob + 2.0f32.ln()).abs() < 1e-6);
        assert!(found[1].logprob.is_nan() && found[1].entropy.is_nan());
        let mut slopes = logits;
        let weights = [Weights { by_logprob: 1.0, by_entropy: 0.5 }; 2];
        gradient(1, 3, &mut slopes, &[0, 2], &found, &weights);
        assert!((slopes[0] - 0.5).abs() < 1e-6 && slopes[1].abs() < 1e-30 && slopes[3..].iter().all(|z| z.is_nan()));
    }
}
