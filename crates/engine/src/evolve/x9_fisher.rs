//! X9, a Fisher-weighted merge without data (after Matena and Raffel 2022).

use super::{Crossover, Draws, Module, Notes};

/// (F₁ p₁ + F₂ p₂)/(F₁ + F₂ + ε) per value, with Fᵢ = pᵢ² in place of the diagonal of the Fisher information. Computed
/// in fp64, where the cube of a small fp32 number does not underflow.
pub(super) struct X9 {
    pub(super) epsilon: f64,
}

impl Crossover for X9 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        first.zip(&second, |first, second| {
            for (first, &second) in first.iter_mut().zip(second) {
                let (p, q) = (f64::from(*first), f64::from(second));
                let (f, g) = (p * p, q * q);
                *first = ((f * p + g * q) / (f + g + self.epsilon)) as f32;
            }
        })
    }
}
