//! M5, noise in the style of NEFTune (Jain et al. 2024): uniform, on the input factor alone.

use super::{Draws, Module, Mutation, Notes};

/// A += Uniform(−α/√(L d), α/√(L d)) for A `[L, d]`, row by row; B stays.
pub(super) struct M5 {
    pub(super) alpha: f64,
}

impl Mutation for M5 {
    fn mutate(&self, _: usize, mut parent: Module, draws: &mut dyn Draws, _: &Notes) -> Module {
        let bound = (self.alpha / (parent.a.len() as f64).sqrt()) as f32;
        draws.with_uniforms(&mut parent.a, |_, values, drawn| {
            for (value, drawn) in values.iter_mut().zip(drawn) {
                *value += bound * (2.0 * drawn - 1.0);
            }
        });
        parent
    }
}
