//! The parts of causal attention around its matrix products: rotating queries and keys, laying out the operands, and
//! turning scores into weights.

mod layout;

pub use layout::{Gradients, Heads, Rotation, Shape, join, join_backward, split, split_backward};

use multiversion::multiversion;
use multiversion::target::target_cfg_f;

use crate::exp::exp;
use crate::share::share;
use crate::sum::{largest, of_pairs};

/// Replaces scores `[.., length, length]` with weights: the softmax of `scale · score` over each token's own position
/// and those before it, zero after it.
///
/// # Panics
/// If `scores` is not a whole number of matrices.
pub fn weights(threads: usize, length: usize, scale: f32, scores: &mut [f32]) {
    assert!(scores.len().is_multiple_of(length * length));
    share(threads, scores.chunks_mut(length * length), |scores| forward(length, scale, scores));
}

/// Replaces the gradient with respect to the weights with that of the scores.
///
/// # Panics
/// If `weights` and `gradient` are not equal numbers of matrices `[length, length]`.
pub fn weights_backward(threads: usize, length: usize, scale: f32, weights: &[f32], gradient: &mut [f32]) {
    assert!(weights.len() == gradient.len() && weights.len().is_multiple_of(length * length));
    let jobs = weights.chunks(length * length).zip(gradient.chunks_mut(length * length));
    share(threads, jobs, |(weights, gradient)| backward(length, scale, weights, gradient));
}

/// Numbers in a vector of the widest unit.
const VECTOR: usize = 16;

#[multiversion(targets = "simd")]
fn forward(length: usize, scale: f32, scores: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    for (place, row) in scores.chunks_exact_mut(length).enumerate() {
        let largest = largest(&row[..=place]);
        // Round up to whole vectors within the row: a partial vector costs more than it saves.
        let whole = (place + 1).next_multiple_of(VECTOR).min(length);
        let mut vectors = row[..whole].chunks_exact_mut(VECTOR);
        for vector in &mut vectors {
            for score in vector {
                *score = exp::<FUSED>((*score - largest) * scale);
            }
        }
        for score in vectors.into_remainder() {
            *score = exp::<FUSED>((*score - largest) * scale);
        }
        let (seen, unseen) = row.split_at_mut(place + 1);
        let reciprocal = 1.0 / of_pairs(seen, seen, |weight, _| weight);
        for weight in seen {
            *weight *= reciprocal;
        }
        unseen.fill(0.0);
    }
}

#[multiversion(targets = "simd")]
fn backward(length: usize, scale: f32, weights: &[f32], gradient: &mut [f32]) {
    let rows = weights.chunks_exact(length).zip(gradient.chunks_exact_mut(length));
    for (place, (weights, gradient)) in rows.enumerate() {
        let (weights, (gradient, unseen)) = (&weights[..=place], gradient.split_at_mut(place + 1));
        let mean = of_pairs(weights, gradient, |weight, gradient| weight * gradient);
        for (gradient, &weight) in gradient.iter_mut().zip(weights) {
            *gradient = weight * (*gradient - mean) * scale;
        }
        unseen.fill(0.0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{weights, weights_backward};

    /// The weights of one token's scores, in f64.
    fn exact(scores: &[f64], scale: f64) -> Vec<f64> {
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let terms: Vec<f64> = scores.iter().map(|score| ((score - largest) * scale).exp()).collect();
        let sum: f64 = terms.iter().sum();
        terms.iter().map(|term| term / sum).collect()
    }

    proptest! {
        #[test]
        fn weights_are_the_softmax_of_what_is_seen_and_the_backward_pass_its_slope(
            matrices in 1usize..4, length in 1usize..40, threads in 1usize..4, scale in 0.05f32..1.0,
            seed in vec(-30.0f32..30.0, 17..37)
        ) {
            let count = matrices * length * length;
            let scores: Vec<f32> = seed.iter().copied().cycle().take(count).collect();
            let gradient: Vec<f32> = seed.iter().map(|x| x / 10.0).cycle().skip(5).take(count).collect();
            let mut found = scores.clone();
            weights(threads, length, scale, &mut found);
            let mut slopes = gradient.clone();
            weights_backward(threads, length, scale, &found, &mut slopes);
            for row in 0..matrices * length {
                let seen = row % length + 1;
                let of = |all: &[f32]| -> Vec<f64> { all[row * length..][..length].iter().map(|&x| f64::from(x)).collect() };
                let (scores, gradient, found, slopes) = (of(&scores), of(&gradient), of(&found), of(&slopes));
                let scale = f64::from(scale);
                for (found, wanted) in found.iter().zip(exact(&scores[..seen], scale)) {
                    prop_assert!((found - wanted).abs() < 1e-5);
                }
                prop_assert!(found[seen..].iter().chain(&slopes[seen..]).all(|&unseen| unseen == 0.0));
                let at = row * 5 % seen;
                let loss = |h: f64| -> f64 {
                    let mut scores = scores[..seen].to_vec();
                    scores[at] += h;
                    exact(&scores, scale).iter().zip(&gradient).map(|(weight, gradient)| weight * gradient).sum()
                };
                let slope = (loss(1e-4) - loss(-1e-4)) / 2e-4;
                prop_assert!((slopes[at] - slope).abs() < 1e-4, "{} for {slope}", slopes[at]);
            }
        }
    }
}
