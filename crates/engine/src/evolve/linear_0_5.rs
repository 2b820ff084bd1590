//! linear_0_5, the plain mean: the baseline for crossovers.

use super::{Crossover, Draws, Module, Notes, x5_linear::weighted};

/// X5 at α = 0.5.
pub(super) struct Linear05;

impl Crossover for Linear05 {
    fn cross(&self, _: usize, first: Module, second: Module, _: &mut dyn Draws, _: &Notes) -> Module {
        weighted(first, &second, 0.5)
    }
}
