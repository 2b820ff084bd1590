//! X2, layer-wise crossover: whole modules from either parent.

use super::{Crossover, Draws, Module, Notes};

/// Each module comes from the first parent if the number drawn from {0, 1} is 0, else from the second.
pub(super) struct X2;

impl Crossover for X2 {
    fn cross(&self, _: usize, first: Module, second: Module, draws: &mut dyn Draws, _: &Notes) -> Module {
        if draws.index(2) == 0 { first } else { second }
    }
}
