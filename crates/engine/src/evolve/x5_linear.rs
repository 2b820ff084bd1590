//! X5, the linear merge of task arithmetic (Ilharco et al. 2023).

use super::{Crossover, Draws, Module, Notes};

/// α P₁ + (1 − α) P₂ for every factor.
pub(super) struct X5 {
    pub(super) alpha: f64,
}

impl Crossover for X5 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        weighted(first, &second, self.alpha)
    }
}

/// α P₁ + (1 − α) P₂ for every factor.
pub(super) fn weighted(first: Module, second: &Module, alpha: f64) -> Module {
    let (of_first, of_second) = (alpha as f32, (1.0 - alpha) as f32);
    first.zip(second, |first, second| {
        for (first, second) in first.iter_mut().zip(second) {
            *first = of_first * *first + of_second * second;
        }
    })
}
