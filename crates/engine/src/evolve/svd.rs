//! The SVD of an update BA without forming it: two QR factorisations and an r × r core (PopuLoRA, appendix 8).
//!
//! B = Q_B R_B and Aᵀ = Q_A R_A, so BA = Q_B (R_B R_Aᵀ) Q_Aᵀ, and the SVD of the core turns Q_B into U and Q_A into V.
//! The QR factorisations come from inner products in fp64, so each factor is read twice and only U and V take memory of
//! its size.

use super::matrix::Matrix;
use super::{Module, matrix};

/// `BA = U diag(s) Vᵀ` with as many components as the rank, from large to small. Signs are chosen so that the entry of
/// largest magnitude in each left singular vector is positive. Where s is 0, both vectors are zero.
pub struct Svd {
    /// Rank r of the factors.
    pub rank: usize,
    /// U `[outputs, r]`, row by row.
    pub u: Vec<f32>,
    /// r singular values.
    pub s: Vec<f64>,
    /// Vᵀ `[r, inputs]`, row by row.
    pub vt: Vec<f32>,
}

impl Svd {
    /// The SVD of a module's update; `None` if the update is zero.
    pub fn of(module: &Module) -> Option<Self> {
        let rank = module.rank;
        let (b, a) = (qr(&matrix::gram_of_columns(&module.b, rank)), qr(&matrix::gram_of_rows(&module.a, rank)));
        let core = svd(&b.r.times(&a.r.transposed()));
        let components = core.s.iter().filter(|&&s| s > 0.0).count();
        if components == 0 {
            return None;
        }
        let padded = |narrow: Matrix| {
            let columns = narrow.columns;
            Matrix::new(rank, rank, |row, column| if column < columns { narrow.at(row, column) } else { 0.0 })
        };
        let mut svd = Self {
            rank,
            u: matrix::columns_times(&module.b, &padded(b.inverse.times(&core.u))),
            s: core.s,
            vt: matrix::times_rows(&padded(a.inverse.times(&core.v)).transposed(), &module.a),
        };
        svd.s.resize(rank, 0.0);
        svd.orient();
        Some(svd)
    }

    /// The balanced split B = U √Σ, A = √Σ Vᵀ. A component whose singular value was set to zero keeps its row of A,
    /// scaled by its value in `before`: with both factors zero it could never be learned again. The sign of a negative
    /// value goes to B.
    pub fn split(mut self, before: &[f64]) -> Module {
        let (rank, inputs) = (self.rank, self.vt.len() / self.rank);
        let columns: Vec<f32> = self.s.iter().map(|s| (s.signum() * s.abs().sqrt()) as f32).collect();
        for row in self.u.chunks_exact_mut(rank) {
            for (value, &root) in row.iter_mut().zip(&columns) {
                *value *= root;
            }
        }
        for ((row, &s), &before) in self.vt.chunks_exact_mut(inputs).zip(&self.s).zip(before) {
            let root = if s == 0.0 { before } else { s.abs() }.sqrt() as f32;
            row.iter_mut().for_each(|value| *value *= root);
        }
        Module { rank, inputs, outputs: self.u.len() / rank, a: self.vt, b: self.u }
    }

    fn orient(&mut self) {
        let (rank, inputs) = (self.rank, self.vt.len() / self.rank);
        let mut largest = vec![0.0_f32; rank];
        for row in self.u.chunks_exact(rank) {
            for (largest, &value) in largest.iter_mut().zip(row) {
                if value.abs() > largest.abs() {
                    *largest = value;
                }
            }
        }
        for row in self.u.chunks_exact_mut(rank) {
            for (value, largest) in row.iter_mut().zip(&largest) {
                *value *= largest.signum();
            }
        }
        for (row, largest) in self.vt.chunks_exact_mut(inputs).zip(&largest) {
            if *largest < 0.0 {
                row.iter_mut().for_each(|value| *value = -*value);
            }
        }
    }
}

/// Two columns count as orthogonal when the cosine between them is at most this.
const ORTHOGONAL: f64 = 1e-12;
/// Maximum number of sweeps over all pairs; six are usual.
const SWEEPS: usize = 40;
/// Singular values below this fraction of the largest count as zero.
const ZERO: f64 = 1e-14;

/// `core = u · diag(s) · vᵀ`, s from large to small. Columns of u and v that belong to s = 0 are zero.
pub(super) struct SmallSvd {
    pub(super) u: Matrix,
    pub(super) s: Vec<f64>,
    pub(super) v: Matrix,
}

/// The SVD of `core` `[m, n]` with min(m, n) singular values.
pub(super) fn svd(core: &Matrix) -> SmallSvd {
    if core.rows < core.columns {
        let SmallSvd { u, s, v } = svd(&core.transposed());
        return SmallSvd { u: v, s, v: u };
    }
    let (m, n) = (core.rows, core.columns);
    // Columns are stored as rows, so that a rotation reads contiguous memory.
    let mut columns: Vec<Vec<f64>> = (0..n).map(|column| (0..m).map(|row| core.at(row, column)).collect()).collect();
    let mut right: Vec<Vec<f64>> =
        (0..n).map(|column| (0..n).map(|row| if row == column { 1.0 } else { 0.0 }).collect()).collect();
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for first in 0..n {
            for second in first + 1..n {
                let (alpha, beta) = (dot(&columns[first], &columns[first]), dot(&columns[second], &columns[second]));
                let gamma = dot(&columns[first], &columns[second]);
                if gamma.abs() <= ORTHOGONAL * (alpha * beta).sqrt() {
                    continue;
                }
                rotated = true;
                let zeta = (beta - alpha) / (2.0 * gamma);
                let tangent = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
                rotate(&mut columns, first, second, cosine, cosine * tangent);
                rotate(&mut right, first, second, cosine, cosine * tangent);
            }
        }
        if !rotated {
            break;
        }
    }
    let lengths: Vec<f64> = columns.iter().map(|column| dot(column, column).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&first, &second| lengths[second].total_cmp(&lengths[first]));
    let least = order.first().map_or(0.0, |&largest| ZERO * lengths[largest]);
    let s: Vec<f64> = order.iter().map(|&column| lengths[column]).map(|s| if s > least { s } else { 0.0 }).collect();
    SmallSvd {
        u: Matrix::new(m, n, |row, place| if s[place] > 0.0 { columns[order[place]][row] / s[place] } else { 0.0 }),
        v: Matrix::new(n, n, |row, place| if s[place] > 0.0 { right[order[place]][row] } else { 0.0 }),
        s,
    }
}

fn dot(first: &[f64], second: &[f64]) -> f64 {
    const LANES: usize = 4;
    let (first, second) = (first.chunks_exact(LANES), second.chunks_exact(LANES));
    let rest: f64 = first.remainder().iter().zip(second.remainder()).map(|(x, y)| x * y).sum();
    let mut sums = [0.0; LANES];
    for (first, second) in first.zip(second) {
        for lane in 0..LANES {
            sums[lane] += first[lane] * second[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

fn rotate(columns: &mut [Vec<f64>], first: usize, second: usize, cosine: f64, sine: f64) {
    let (head, tail) = columns.split_at_mut(second);
    for (x, y) in head[first].iter_mut().zip(tail[0].iter_mut()) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

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
    let mut left: Vec<f64> = lengths.iter().map(|&length| if length > 0.0 { 1.0 } else { 0.0 }).collect();
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
            let known: f64 = (row + 1..=column).map(|inner| rows[row][pivots[inner]] * inverse.at(inner, column)).sum();
            let target = if row == column { 1.0 } else { 0.0 };
            inverse.set(row, column, (target - known) / rows[row][pivots[row]]);
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_factors_give_the_matrix_back(m in 1usize..9, n in 1usize..9, values in prop::collection::vec(-1.0..1.0, 64)) {
            let core = Matrix::new(m, n, |row, column| values[row * 8 + column]);
            let SmallSvd { u, s, v } = svd(&core);
            prop_assert_eq!(s.len(), m.min(n));
            prop_assert!(s.windows(2).all(|pair| pair[0] >= pair[1]));
            let scaled = Matrix::new(s.len(), n, |row, column| s[row] * v.at(column, row));
            let product = u.times(&scaled);
            for row in 0..m {
                for column in 0..n {
                    prop_assert!((product.at(row, column) - core.at(row, column)).abs() < 1e-11);
                }
            }
        }
    }
}
