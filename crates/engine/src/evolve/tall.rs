//! Products of a factor with an r × r matrix, computed in fp64 and rounded once: the matrix may have large entries that
//! cancel.

use super::matrix::Matrix;

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
