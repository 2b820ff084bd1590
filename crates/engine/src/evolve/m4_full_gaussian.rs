//! M4, full Gaussian noise: on every module.

use super::{Draws, Module, Mutation, Notes, gaussian};

/// A += N(0, (ε std(A))²) and B likewise.
pub(super) struct M4 {
    pub(super) epsilon: f64,
}

impl Mutation for M4 {
    fn mutate(&self, _: usize, parent: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        gaussian::add(parent, self.epsilon, draws, notes)
    }
}
