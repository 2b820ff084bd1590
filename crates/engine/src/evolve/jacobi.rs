//! The SVD of a small matrix by one-sided Jacobi rotations (Hestenes 1958; Demmel and Veselić 1992): accurate for small singular
//! values too, and the same bits on every machine.

use super::matrix::Matrix;

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
    let mut columns: Vec<Vec<f64>> = (0..n)
        .map(|column| (0..m).map(|row| core.at(row, column)).collect())
        .collect();
    let mut right: Vec<Vec<f64>> = (0..n)
        .map(|column| (0..n).map(|row| if row == column { 1.0 } else { 0.0 }).collect())
        .collect();
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for first in 0..n {
            for second in first + 1..n {
                let (alpha, beta) = (
                    dot(&columns[first], &columns[first]),
                    dot(&columns[second], &columns[second]),
                );
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
    let s: Vec<f64> = order
        .iter()
        .map(|&column| lengths[column])
        .map(|s| if s > least { s } else { 0.0 })
        .collect();
    SmallSvd {
        u: Matrix::new(m, n, |row, place| {
            if s[place] > 0.0 {
                columns[order[place]][row] / s[place]
            } else {
                0.0
            }
        }),
        v: Matrix::new(
            n,
            n,
            |row, place| if s[place] > 0.0 { right[order[place]][row] } else { 0.0 },
        ),
        s,
    }
}

fn dot(first: &[f64], second: &[f64]) -> f64 {
    const LANES: usize = 4;
    let (first, second) = (first.chunks_exact(LANES), second.chunks_exact(LANES));
    let rest: f64 = first
        .remainder()
        .iter()
        .zip(second.remainder())
        .map(|(x, y)| x * y)
        .sum();
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
