//! Inner products of a factor's r long vectors, summed in fp64. A product of two fp32 numbers is exact there, so only the sum
//! rounds.

use super::matrix::Matrix;

/// Values of each vector converted at a time: blocks of 32 vectors fit into the L1 cache.
const BLOCK: usize = 128;
/// Sums computed side by side.
const LANES: usize = 8;

/// `A Aᵀ` of A `[rank, length]`.
pub(super) fn of_rows(a: &[f32], rank: usize) -> Matrix {
    let length = a.len() / rank;
    blocks(rank, length, |vector, place| a[vector * length + place])
}

/// `Bᵀ B` of B `[length, rank]`.
pub(super) fn of_columns(b: &[f32], rank: usize) -> Matrix {
    blocks(rank, b.len() / rank, |vector, place| b[place * rank + vector])
}

fn blocks(rank: usize, length: usize, value: impl Fn(usize, usize) -> f32) -> Matrix {
    let mut gram = Matrix::new(rank, rank, |_, _| 0.0);
    let mut block = vec![0.0; rank * BLOCK];
    for start in (0..length).step_by(BLOCK) {
        let width = BLOCK.min(length - start);
        block.fill(0.0);
        for (vector, converted) in block.chunks_exact_mut(BLOCK).enumerate() {
            for (offset, converted) in converted[..width].iter_mut().enumerate() {
                *converted = f64::from(value(vector, start + offset));
            }
        }
        for first in 0..rank {
            for second in first..rank {
                let of = |vector: usize| &block[vector * BLOCK..(vector + 1) * BLOCK];
                gram.set(first, second, gram.at(first, second) + dot(of(first), of(second)));
            }
        }
    }
    for first in 0..rank {
        for second in 0..first {
            gram.set(first, second, gram.at(second, first));
        }
    }
    gram
}

fn dot(first: &[f64], second: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    for (first, second) in first.chunks_exact(LANES).zip(second.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] += first[lane] * second[lane];
        }
    }
    sums.iter().sum()
}
