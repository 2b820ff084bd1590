//! Where operators get their random numbers.

use lyceum_core::seed;
use rand::Rng as _;
use rand_chacha::ChaCha12Rng;
use rand_distr::{Distribution as _, StandardNormal};

/// A source of random numbers. Operators draw in the order that their files give, so that any other source of the same numbers
/// makes the same child.
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

    /// `chosen` different numbers below `among`, each set equally likely: the first steps of a Fisher–Yates shuffle, each of
    /// which draws one index among those that are left.
    pub(super) fn choose(&mut self, among: usize, chosen: usize) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..among).collect();
        for place in 0..chosen {
            numbers.swap(place, place + self.index(among - place));
        }
        numbers.truncate(chosen);
        numbers
    }

    /// Gives `change` the values of `values` chunk by chunk, in order: the place of the first, the values, and a number from [0, 1)
    /// for each.
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

/// A stream that depends on a seed and a name alone: each module has its own, so that modules can be computed in any order.
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
