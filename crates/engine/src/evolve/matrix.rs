//! Dense linear algebra in fp64 on an adapter's factors.

/// A matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// The matrix with `value(row, column)` at each place.
    pub(super) fn new(rows: usize, columns: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let values = (0..rows * columns).map(|index| value(index / columns, index % columns));
        Self { rows, columns, values: values.collect() }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.columns + column]
    }

    pub(super) fn set(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.columns + column] = value;
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    pub(super) fn transposed(&self) -> Self {
        Self::new(self.columns, self.rows, |row, column| self.at(column, row))
    }

    /// `self · other`.
    pub(super) fn times(&self, other: &Self) -> Self {
        let mut product = Self::new(self.rows, other.columns, |_, _| 0.0);
        for row in 0..self.rows {
            let sums = &mut product.values[row * other.columns..(row + 1) * other.columns];
            for (inner, &factor) in self.row(row).iter().enumerate() {
                for (sum, value) in sums.iter_mut().zip(other.row(inner)) {
                    *sum += factor * value;
                }
            }
        }
        product
    }
}

/// Values of each vector converted at a time: blocks of 32 vectors fit into the L1 cache.
const BLOCK: usize = 128;
/// Sums computed side by side.
const SUMS: usize = 8;

/// `A Aᵀ` of A `[rank, length]`. A product of two fp32 numbers is exact in fp64, so only the sum rounds.
pub(super) fn gram_of_rows(a: &[f32], rank: usize) -> Matrix {
    let length = a.len() / rank;
    blocks(rank, length, |vector, place| a[vector * length + place])
}

/// `Bᵀ B` of B `[length, rank]`.
pub(super) fn gram_of_columns(b: &[f32], rank: usize) -> Matrix {
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
    for (first, second) in first.chunks_exact(SUMS).zip(second.chunks_exact(SUMS)) {
        for lane in 0..LANES {
            sums[lane] += first[lane] * second[lane];
        }
    }
    sums.iter().sum()
}

/// Columns computed side by side.
const LANES: usize = 8;

/// `B · M` for B `[length, M.rows]`.
pub(super) fn columns_times(b: &[f32], matrix: &Matrix) -> Vec<f32> {
    let (rank, columns) = (matrix.rows, matrix.columns);
    let panels = panels(rank, columns, |inner, column| matrix.at(inner, column));
    let mut product = vec![0.0; b.len() / rank * columns];
    let mut row = vec![0.0; rank];
    for (values, product) in b.chunks_exact(rank).zip(product.chunks_exact_mut(columns)) {
        for (converted, &value) in row.iter_mut().zip(values) {
            *converted = f64::from(value);
        }
        for (panel, product) in panels.chunks_exact(rank * LANES).zip(product.chunks_mut(LANES)) {
            write(product, &combined(&row, panel));
        }
    }
    product
}

/// `M · A` for A `[M.columns, length]`.
pub(super) fn times_rows(matrix: &Matrix, a: &[f32]) -> Vec<f32> {
    let rank = matrix.columns;
    let length = a.len() / rank;
    let mut product = vec![0.0; matrix.rows * length];
    let mut panel = vec![0.0; rank * LANES];
    for start in (0..length).step_by(LANES) {
        let width = LANES.min(length - start);
        for (inner, panel) in panel.chunks_exact_mut(LANES).enumerate() {
            for (converted, &value) in panel.iter_mut().zip(&a[inner * length + start..][..width]) {
                *converted = f64::from(value);
            }
        }
        for row in 0..matrix.rows {
            let sums = combined(matrix.row(row), &panel);
            write(&mut product[row * length + start..][..width], &sums);
        }
    }
    product
}

/// `LANES` columns at a time, each panel row by row; missing columns are zero.
fn panels(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let mut panels = Vec::with_capacity(rows * columns.next_multiple_of(LANES));
    for start in (0..columns).step_by(LANES) {
        for row in 0..rows {
            panels.extend((start..start + LANES).map(|column| if column < columns { value(row, column) } else { 0.0 }));
        }
    }
    panels
}

fn combined(factors: &[f64], panel: &[f64]) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for (&factor, values) in factors.iter().zip(panel.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[lane] += factor * values[lane];
        }
    }
    sums
}

fn write(target: &mut [f32], sums: &[f64; LANES]) {
    for (target, &sum) in target.iter_mut().zip(sums) {
        *target = sum as f32;
    }
}
