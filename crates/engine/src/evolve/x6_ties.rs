//! X6, the TIES merge (Yadav et al. 2023): trim, elect a sign, average the values that have it.

use super::{Crossover, Draws, Module, Notes};

/// Per factor: the ⌊τ n⌋ values of smallest magnitude in each parent become zero (together with any of equal
/// magnitude), the sign of the parents' sum is elected, and the values with that sign are averaged; if there are none,
/// the child's value is zero.
pub(super) struct X6 {
    pub(super) tau: f64,
}

impl Crossover for X6 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        first.zip(&second, |first, second| {
            let (of_first, of_second) = (self.threshold(first), self.threshold(second));
            let trimmed = |value: f32, threshold: Option<f32>| match threshold {
                Some(threshold) if value.abs() <= threshold => 0.0,
                _ => value,
            };
            for (first, &second) in first.iter_mut().zip(second) {
                *first = elected(trimmed(*first, of_first), trimmed(second, of_second));
            }
        })
    }
}

impl X6 {
    /// The magnitude up to which values are trimmed; `None` if none are.
    fn threshold(&self, values: &[f32]) -> Option<f32> {
        let last = ((self.tau * values.len() as f64).floor() as usize).checked_sub(1)?;
        // For non-negative finite values, the bit patterns sort like the numbers.
        let mut magnitudes: Vec<u32> = values.iter().map(|value| value.abs().to_bits()).collect();
        let (_, &mut threshold, _) = magnitudes.select_nth_unstable(last);
        Some(f32::from_bits(threshold))
    }
}

/// The mean of the values that have the sign of the sum; 0 if neither has.
fn elected(first: f32, second: f32) -> f32 {
    let sum = first + second;
    match (agrees(first, sum), agrees(second, sum)) {
        (true, true) => sum / 2.0,
        (true, false) => first,
        (false, true) => second,
        (false, false) => 0.0,
    }
}

fn agrees(value: f32, sum: f32) -> bool {
    (value > 0.0 && sum > 0.0) || (value < 0.0 && sum < 0.0)
}
