//! QR factorisation of r long vectors from their inner products (Cholesky QR), with pivoting to leave out dependent
//! vectors.

use super::matrix::Matrix;

/// A vector counts as dependent if at most this share of its squared length is orthogonal to the others. fp32 vectors
/// carry no more information.
const TOLERANCE: f64 = 1e-13;

/// `X = Q · r` and `Q = X · inverse` for X with n columns of which q are independent.
pub(super) struct Qr {
    /// `[q, n]`
    pub(super) r: Matrix,
    /// `[n, q]`
    pub(super) inverse: Matrix,
}

/// Factorises X from `gram` = Xᵀ X. Columns are first scaled to length 1, so their scales do not matter.
pub(super) fn qr(gram: &Matrix) -> Qr {
    let n = gram.rows;
    let lengths: Vec<f64> = (0..n).map(|column| gram.at(column, column).sqrt()).collect();
    let unit = |row: usize, column: usize| gram.at(row, column) / (lengths[row] * lengths[column]);
    let mut left: Vec<f64> = lengths
        .iter()
        .map(|&length| if length > 0.0 { 1.0 } else { 0.0 })
        .collect();
    let mut pivots: Vec<usize> = Vec::new();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    while let Some(pivot) = largest(&left) {
        let scale = left[pivot].sqrt();
        let mut row = vec![0.0; n];
        for column in 0..n {
            if column == pivot {
                row[column] = scale;
            } else if left[column] > 0.0 {
                let known: f64 = rows.iter().map(|row| row[pivot] * row[column]).sum();
                row[column] = (unit(pivot, column) - known) / scale;
                left[column] = (left[column] - row[column] * row[column]).max(0.0);
            } else if lengths[column] > 0.0 && !pivots.contains(&column) {
                // A column found dependent still has components along the others.
                let known: f64 = rows.iter().map(|row| row[pivot] * row[column]).sum();
                row[column] = (unit(pivot, column) - known) / scale;
            }
        }
        left[pivot] = 0.0;
        pivots.push(pivot);
        rows.push(row);
    }
    let inverse = inverse(&rows, &pivots);
    Qr {
        r: Matrix::new(pivots.len(), n, |row, column| rows[row][column] * lengths[column]),
        inverse: Matrix::new(n, pivots.len(), |row, column| {
            let place = pivots.iter().position(|&pivot| pivot == row);
            place.map_or(0.0, |place| inverse.at(place, column) / lengths[row])
        }),
    }
}

fn largest(left: &[f64]) -> Option<usize> {
    let mut best = None;
    for (column, &value) in left.iter().enumerate() {
        if value > TOLERANCE && best.is_none_or(|best: usize| value > left[best]) {
            best = Some(column);
        }
    }
    best
}

/// The inverse of the triangle formed by the pivot columns of `rows`.
fn inverse(rows: &[Vec<f64>], pivots: &[usize]) -> Matrix {
    let q = pivots.len();
    let mut inverse = Matrix::new(q, q, |_, _| 0.0);
    for column in 0..q {
        for row in (0..=column).rev() {
            let known: f64 = (row + 1..=column)
                .map(|inner| rows[row][pivots[inner]] * inverse.at(inner, column))
                .sum();
            let target = if row == column { 1.0 } else { 0.0 };
            inverse.set(row, column, (target - known) / rows[row][pivots[row]]);
        }
    }
    inverse
}
