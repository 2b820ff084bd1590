//! M1, the SVD-structured mutation: noise on the singular values, small rotations of the singular vectors.

use super::{Draws, Module, Mutation, Note, Notes, Svd, matrix::Matrix, tall};

/// Σ ← Σ ⊙ exp(ε z) with z ~ N(0, I), U ← U (I + ε K) and V ← V (I + ε K′), where K = (M − Mᵀ)/2 with M ~ N(0, 1) elementwise is
/// the first order of a Cayley rotation; then the balanced split. Draws z, the M of U and the M of V, row by row.
pub(super) struct M1 {
    pub(super) epsilon: f64,
}

impl Mutation for M1 {
    fn mutate(&self, _: usize, parent: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        let Some(mut svd) = Svd::of(&parent) else {
            notes.count(Note::ZeroCopied);
            return parent;
        };
        let before = svd.s.clone();
        let mut z = vec![0.0; svd.rank];
        draws.normals(&mut z);
        for (s, z) in svd.s.iter_mut().zip(z) {
            *s *= (self.epsilon * f64::from(z)).exp();
        }
        svd.u = tall::columns_times(&svd.u, &rotation(svd.rank, self.epsilon, draws));
        svd.vt = tall::times_rows(&rotation(svd.rank, self.epsilon, draws).transposed(), &svd.vt);
        svd.split(&before)
    }
}

/// I + ε K.
fn rotation(rank: usize, epsilon: f64, draws: &mut dyn Draws) -> Matrix {
    let mut m = vec![0.0; rank * rank];
    draws.normals(&mut m);
    let m = |row: usize, column: usize| f64::from(m[row * rank + column]);
    Matrix::new(rank, rank, |row, column| {
        let one = if row == column { 1.0 } else { 0.0 };
        one + epsilon * (m(row, column) - m(column, row)) / 2.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evolve::Seeded;

    #[test]
    fn the_rotation_is_orthogonal_to_first_order() {
        let apart = |epsilon: f64| {
            let r = rotation(6, epsilon, &mut Seeded::new(3, "rotation"));
            let product = r.times(&r.transposed());
            let difference =
                |row: usize, column: usize| product.at(row, column) - if row == column { 1.0 } else { 0.0 };
            (0..36)
                .map(|index| difference(index / 6, index % 6).abs())
                .fold(0.0, f64::max)
        };
        // R Rᵀ − I = −ε² K²: dividing ε by 10 divides the error by 100.
        assert!(apart(0.1) > 1e-3);
        assert!((apart(0.1) / apart(0.01) - 100.0).abs() < 1e-6);
    }
}
