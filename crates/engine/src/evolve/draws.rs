//! Random numbers for the operators.

use lyceum_core::seed;
use rand::Rng as _;
use rand_chacha::ChaCha12Rng;
use rand_distr::{Distribution as _, StandardNormal};

/// A source of random numbers. Each operator documents the order of its draws, so another source with the same
/// numbers makes the same child.
pub trait Draws {
    /// Fills `values` from the standard normal distribution.
    fn normals(&mut self, values: &mut [f32]);

    /// Fills `values` from the uniform distribution on [0, 1).
    fn uniforms(&mut self, values: &mut [f32]);

    /// A number below `below`, each equally likely.
    fn index(&mut self, below: usize) -> usize;
}

impl dyn Draws + '_ {
    /// One number from [0, 1).
    pub(super) fn uniform(&mut self) -> f32 {
        let mut value = [0.0];
        self.uniforms(&mut value);
        value[0]
    }

    /// Draws `chosen` different numbers below `among`, each set equally likely: the first steps of a Fisher–Yates
    /// shuffle, each of which draws one index among the remaining ones.
    pub(super) fn choose(&mut self, among: usize, chosen: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..among).collect();
        for place in 0..chosen {
            numbers.swap(place, place + self.index(among - place));
        }
        numbers.truncate(chosen);
        numbers
    }

    /// Passes `values` to `change` chunk by chunk, in order: the offset of the chunk, its values, and a number from [0,
    /// 1) for each.
    pub(super) fn with_uniforms(&mut self, values: &mut [f32], mut change: impl FnMut(usize, &mut [f32], &[f32])) {
        let mut drawn = [0.0; 1024];
        for (chunk, values) in values.chunks_mut(drawn.len()).enumerate() {
            let start = chunk * drawn.len();
            let drawn = &mut drawn[..values.len()];
            self.uniforms(drawn);
            change(start, values, drawn);
        }
    }
}

/// A stream determined by a seed and a name: each module has its own, so modules can be computed in any order.
pub struct Seeded(ChaCha12Rng);

impl Seeded {
    /// The stream `name` of `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        Self(seed::stream(seed, name, 0))
    }
}

impl Draws for Seeded {
    fn normals(&mut self, values: &mut [f32]) {
        values.fill_with(|| StandardNormal.sample(&mut self.0));
    }

    fn uniforms(&mut self, values: &mut [f32]) {
        values.fill_with(|| self.0.random());
    }

    fn index(&mut self, below: usize) -> usize {
        self.0.random_range(0..below)
    }
}
