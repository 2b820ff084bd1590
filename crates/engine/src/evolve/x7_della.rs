//! X7, DELLA (Deep et al. 2024): smaller values are dropped more often; what is left is scaled up.

use super::{Crossover, Draws, Module, Notes};

/// Per factor and parent: with values ranked from the largest magnitude (0) to the smallest (n − 1), equals by their place, a value
/// of rank i is dropped with probability p = ε + (1 − ε) i/(n − 1) and else divided by 1 − p; the child is the parents' mean. A
/// value is kept when the number drawn for it is at least p. Draws for A of the first parent, A of the second, B of the first and
/// B of the second, row by row.
pub(super) struct X7 {
    pub(super) epsilon: f64,
}

impl Crossover for X7 {
    fn cross(&self, _: usize, mut first: Module, mut second: Module, draws: &mut dyn Draws, _: &Notes) -> Module {
        for factor in [&mut first.a, &mut second.a, &mut first.b, &mut second.b] {
            self.thin(factor, draws);
        }
        first.zip(&second, |first, second| {
            for (first, second) in first.iter_mut().zip(second) {
                *first = (*first + second) / 2.0;
            }
        })
    }
}

impl X7 {
    fn thin(&self, values: &mut [f32], draws: &mut dyn Draws) {
        let ranks = ranks(values);
        let slope = (1.0 - self.epsilon) / (values.len().max(2) - 1) as f64;
        draws.with_uniforms(values, |index, value, drawn| {
            let p = self.epsilon + slope * f64::from(ranks[index]);
            *value = if f64::from(drawn) >= p {
                (f64::from(*value) / (1.0 - p)) as f32
            } else {
                0.0
            };
        });
    }
}

/// By place, how many values are larger in magnitude, or equal and before it.
fn ranks(values: &[f32]) -> Vec<u32> {
    // The complement of the magnitude's bits above, the place below: one sort of whole numbers, largest magnitude first.
    let mut keys: Vec<u64> = values
        .iter()
        .enumerate()
        .map(|(place, value)| (u64::from(!value.abs().to_bits()) << 32) | place as u64)
        .collect();
    keys.sort_unstable();
    let mut ranks = vec![0; values.len()];
    for (rank, key) in keys.into_iter().enumerate() {
        ranks[(key & u64::from(u32::MAX)) as usize] = rank as u32;
    }
    ranks
}
