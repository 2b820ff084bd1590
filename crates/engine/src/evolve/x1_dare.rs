//! X1, DARE (Yu et al. 2024): drop and rescale, then average.

use super::{Crossover, Draws, Module, Notes};

/// Each value of the four factors is dropped with probability p, and the rest are divided by 1 − p; the child is the
/// mean of the parents. A value is kept if the number drawn for it is at least p. Draws for A of the first parent, A of
/// the second, B of the first and B of the second, row by row.
pub(super) struct X1 {
    pub(super) p: f64,
}

impl Crossover for X1 {
    fn cross(&self, _: usize, mut first: Module, mut second: Module, draws: &mut dyn Draws, _: &Notes) -> Module {
        // Halved already, for the mean.
        let scale = (0.5 / (1.0 - self.p)) as f32;
        let p = self.p as f32;
        for factor in [&mut first.a, &mut second.a, &mut first.b, &mut second.b] {
            draws.with_uniforms(factor, |_, values, drawn| {
                for (value, &drawn) in values.iter_mut().zip(drawn) {
                    *value *= if drawn >= p { scale } else { 0.0 };
                }
            });
        }
        first.zip(&second, |first, second| {
            for (first, second) in first.iter_mut().zip(second) {
                *first += second;
            }
        })
    }
}
