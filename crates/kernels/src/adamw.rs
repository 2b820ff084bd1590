//! A step of AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101, Algorithm 2), with PyTorch's order of operations.

use multiversion::multiversion;

use crate::share::share;

/// Numbers per job.
const NUMBERS: usize = 1 << 14;

/// Coefficients of a step; the same for all of a member's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Learning rate divided by the first moment's bias correction, `η / (1 − β₁ᵗ)`.
    pub rate: f32,
    /// Factor for the root of the second moment that corrects its bias, `1 / √(1 − β₂ᵗ)`.
    pub root: f32,
    /// Keeps the denominator away from zero.
    pub eps: f32,
    /// Factor of the weight decay, `1 − η λ`.
    pub kept: f32,
}

/// A member's numbers that the step reads and changes.
#[derive(Debug)]
pub struct Numbers<'a> {
    pub gradient: &'a [f32],
    /// The trained values.
    pub values: &'a mut [f32],
    /// First moment.
    pub exp_avg: &'a mut [f32],
    /// Second moment.
    pub exp_avg_sq: &'a mut [f32],
}

/// Makes the step in place.
///
/// # Panics
/// If the slices differ in length.
pub fn step(threads: usize, step: Step, numbers: Numbers<'_>) {
    let count = numbers.gradient.len();
    let lengths = [numbers.values.len(), numbers.exp_avg.len(), numbers.exp_avg_sq.len()];
    assert!(lengths == [count; 3]);
    let moments = numbers.exp_avg.chunks_mut(NUMBERS).zip(numbers.exp_avg_sq.chunks_mut(NUMBERS));
    let jobs = numbers.gradient.chunks(NUMBERS).zip(numbers.values.chunks_mut(NUMBERS)).zip(moments);
    share(threads, jobs, |((gradient, values), (exp_avg, exp_avg_sq))| {
        change(step, gradient, values, exp_avg, exp_avg_sq);
    });
}

#[multiversion(targets = "simd")]
fn change(step: Step, gradient: &[f32], values: &mut [f32], exp_avg: &mut [f32], exp_avg_sq: &mut [f32]) {
    let moments = exp_avg.iter_mut().zip(exp_avg_sq);
    for ((&gradient, value), (first, second)) in gradient.iter().zip(values).zip(moments) {
        *first += (gradient - *first) * (1.0 - step.beta1);
        *second = *second * step.beta2 + gradient * gradient * (1.0 - step.beta2);
        let denominator = second.sqrt() * step.root + step.eps;
        *value = *value * step.kept - *first * step.rate / denominator;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{Numbers, Step, step};

    proptest! {
        #[test]
        fn three_steps_are_the_algorithms(
            start in vec((-2.0f32..2.0, -1.0f32..1.0), 1..40), threads in 1usize..4,
            (beta1, beta2) in (0.5f64..0.95, 0.9f64..0.999), learning_rate in 1e-4f64..0.1, decay in 0.0f64..0.3
        ) {
            let gradient: Vec<f32> = start.iter().map(|(_, gradient)| *gradient).collect();
            let mut values: Vec<f32> = start.iter().map(|(value, _)| *value).collect();
            let (mut exp_avg, mut exp_avg_sq) = (vec![0.0f32; values.len()], vec![0.0f32; values.len()]);
            let mut exact: Vec<[f64; 3]> = values.iter().map(|&value| [f64::from(value), 0.0, 0.0]).collect();
            for t in 1..4 {
                let (first, second) = (1.0 - beta1.powi(t), 1.0 - beta2.powi(t));
                let factors = Step {
                    beta1: beta1 as f32,
                    beta2: beta2 as f32,
                    rate: (learning_rate / first) as f32,
                    root: second.sqrt().recip() as f32,
                    eps: 1e-8,
                    kept: (1.0 - learning_rate * decay) as f32,
                };
                let numbers = Numbers {
                    gradient: &gradient,
                    values: &mut values,
                    exp_avg: &mut exp_avg,
                    exp_avg_sq: &mut exp_avg_sq,
                };
                step(threads, factors, numbers);
                // Lines 6 to 12 of the algorithm, with weight decay before the step as in PyTorch.
                for ([value, m, v], &gradient) in exact.iter_mut().zip(&gradient) {
                    let gradient = f64::from(gradient);
                    *m = beta1 * *m + (1.0 - beta1) * gradient;
                    *v = beta2 * *v + (1.0 - beta2) * gradient * gradient;
                    *value -= learning_rate * decay * *value;
                    *value -= learning_rate * (*m / first) / ((*v / second).sqrt() + 1e-8);
                }
            }
            for (found, [exact, ..]) in values.iter().zip(&exact) {
                prop_assert!((f64::from(*found) - exact).abs() < 1e-5, "{found} for {exact}");
            }
        }
    }
}
