//! The SVD of an update BA without forming it: two QR factorisations and an r × r core (PopuLoRA, appendix 8).
//!
//! B = Q_B R_B and Aᵀ = Q_A R_A, so BA = Q_B (R_B R_Aᵀ) Q_Aᵀ, and the SVD of the core turns Q_B into U and Q_A into V.
//! The QR factorisations come from inner products in fp64, so each factor is read twice and only U and V take memory of
//! its size.

use super::{Module, cholesky_qr::qr, gram, jacobi, matrix::Matrix, tall};

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
        let (b, a) = (
            qr(&gram::of_columns(&module.b, rank)),
            qr(&gram::of_rows(&module.a, rank)),
        );
        let core = jacobi::svd(&b.r.times(&a.r.transposed()));
        let components = core.s.iter().filter(|&&s| s > 0.0).count();
        if components == 0 {
            return None;
        }
        let padded = |narrow: Matrix| {
            let columns = narrow.columns;
            Matrix::new(
                rank,
                rank,
                |row, column| if column < columns { narrow.at(row, column) } else { 0.0 },
            )
        };
        let mut svd = Self {
            rank,
            u: tall::columns_times(&module.b, &padded(b.inverse.times(&core.u))),
            s: core.s,
            vt: tall::times_rows(&padded(a.inverse.times(&core.v)).transposed(), &module.a),
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
        Module {
            rank,
            inputs,
            outputs: self.u.len() / rank,
            a: self.vt,
            b: self.u,
        }
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
