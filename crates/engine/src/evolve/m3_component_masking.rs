//! M3, component masking: random singular values become zero.

use super::{Draws, Module, Mutation, Note, Notes, Svd};

/// Zeroes ⌈ρ r⌉ singular values, drawn uniformly without replacement, and splits the rest balanced.
pub(super) struct M3 {
    pub(super) rho: f64,
}

impl Mutation for M3 {
    fn mutate(&self, _: usize, parent: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        let Some(mut svd) = Svd::of(&parent) else {
            notes.count(Note::ZeroCopied);
            return parent;
        };
        let before = svd.s.clone();
        let masked = (self.rho * svd.rank as f64).ceil() as usize;
        for component in draws.choose(svd.rank, masked) {
            svd.s[component] = 0.0;
        }
        svd.split(&before)
    }
}
