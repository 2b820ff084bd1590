//! X7, DELLA (Deep et al. 2024): smaller values are dropped more often; the rest are scaled up.

use std::cell::Cell;

use super::{Crossover, Draws, Module, Notes};

/// Per factor and parent: values are ranked from the largest magnitude (0) to the smallest (n − 1), ties by position. A
/// value of rank i is dropped with probability p = ε + (1 − ε) i/(n − 1) and otherwise divided by 1 − p; the child is
/// the mean of the parents. A value is kept if the number drawn for it is at least p. Draws for A of the first parent,
/// A of the second, B of the first and B of the second, row by row.
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
        let mut ranking = RANKING.take();
        let ranks = ranking.of(values);
        let slope = (1.0 - self.epsilon) / (values.len().max(2) - 1) as f64;
        draws.with_uniforms(values, |start, values, drawn| {
            // Branch-free: which values are kept is unpredictable.
            for ((value, &rank), &drawn) in values.iter_mut().zip(&ranks[start..]).zip(drawn) {
                let p = self.epsilon + slope * f64::from(rank);
                let scaled = (f64::from(*value) / (1.0 - p)) as f32;
                *value = if f64::from(drawn) >= p { scaled } else { 0.0 };
            }
        });
        RANKING.set(ranking);
    }
}

thread_local! {
    // Reused: these are megabytes that the system would zero anew for each of hundreds of factors.
    static RANKING: Cell<Ranking> = Cell::default();
}

/// Buffers for ranking values.
#[derive(Default)]
struct Ranking {
    keys: Vec<u64>,
    sorted: Vec<u64>,
    ranks: Vec<u32>,
}

impl Ranking {
    /// For each position, the number of values that are larger in magnitude, or equal and earlier. A stable radix sort
    /// by the bits of the magnitude, which sort like the numbers.
    fn of(&mut self, values: &[f32]) -> &[u32] {
        const DIGITS: usize = 1 << 8;
        // The magnitude's complement in the high bits, the position in the low bits.
        let key = |(place, value): (usize, &f32)| {
            (u64::from(u32::MAX >> 1) - u64::from(value.abs().to_bits())) << 32 | place as u64
        };
        self.keys.clear();
        self.keys.extend(values.iter().enumerate().map(key));
        self.sorted.resize(values.len(), 0);
        for shift in [32, 40, 48, 56] {
            let digit = |key: u64| (key >> shift) as usize % DIGITS;
            let mut starts = [0_u32; DIGITS];
            for &key in &self.keys {
                starts[digit(key)] += 1;
            }
            let mut next = 0;
            for start in &mut starts {
                (*start, next) = (next, next + *start);
            }
            for &key in &self.keys {
                let start = &mut starts[digit(key)];
                self.sorted[*start as usize] = key;
                *start += 1;
            }
            std::mem::swap(&mut self.keys, &mut self.sorted);
        }
        self.ranks.resize(values.len(), 0);
        for (rank, key) in self.keys.iter().enumerate() {
            self.ranks[(key & u64::from(u32::MAX)) as usize] = rank as u32;
        }
        &self.ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_largest_magnitude_is_first_and_equals_keep_their_order(
            values in prop::collection::vec(prop_oneof![Just(0.0_f32), Just(-0.0), Just(1.5), Just(-1.5), any::<f32>()], 0..400),
        ) {
            let values: Vec<f32> = values.into_iter().filter(|value| value.is_finite()).collect();
            let mut order: Vec<usize> = (0..values.len()).collect();
            order.sort_by(|&x, &y| values[y].abs().total_cmp(&values[x].abs()));
            let mut ranking = Ranking::default();
            ranking.of(&[1.0; 500]);
            let ranks = ranking.of(&values);
            prop_assert!(order.iter().enumerate().all(|(rank, &place)| ranks[place] == rank as u32));
        }
    }
}
