//! X4, extrapolation past the second parent (after task arithmetic, Ilharco et al. 2023).

use super::{Crossover, Draws, Module, Notes};

/// A = A₁ + η (A₂ − A₁) and B likewise, with one η ~ Uniform(η_min, η_max) for the whole child.
pub(super) struct X4 {
    eta: f32,
}

impl X4 {
    /// Draws η.
    pub(super) fn new(eta_min: f64, eta_max: f64, draws: &mut dyn Draws) -> Self {
        let drawn = f64::from(draws.uniform());
        Self {
            eta: (eta_min + drawn * (eta_max - eta_min)) as f32,
        }
    }
}

impl Crossover for X4 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        first.zip(&second, |first, second| {
            for (first, second) in first.iter_mut().zip(second) {
                *first += self.eta * (second - *first);
            }
        })
    }
}
