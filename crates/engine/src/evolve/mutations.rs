//! The mutations (PopuLoRA, appendix 8).

use lyceum_core::evolution::OperatorError;

use super::matrix::Matrix;
use super::{Draws, Module, Mutation, Note, Notes, Svd, matrix};

/// M1, the SVD-structured mutation: noise on the singular values, small rotations of the singular vectors.
///
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
        svd.u = matrix::columns_times(&svd.u, &rotation(svd.rank, self.epsilon, draws));
        svd.vt = matrix::times_rows(&rotation(svd.rank, self.epsilon, draws).transposed(), &svd.vt);
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

/// M2, layer-selective Gaussian noise: on a random fraction of the modules.
///
/// A += N(0, (ε std(A))²) and B likewise in a fraction f of the modules, drawn without replacement; the others are
/// copied.
pub(super) struct M2 {
    epsilon: f64,
    /// Whether each module is changed.
    chosen: Vec<bool>,
}

impl M2 {
    /// Draws the modules to change: round(f · modules), and at least one unless f is 0.
    pub(super) fn new(epsilon: f64, f: f64, modules: usize, draws: &mut dyn Draws) -> Self {
        let share = (f * modules as f64).round() as usize;
        let count = if f > 0.0 { share.clamp(1, modules) } else { 0 };
        let mut chosen = vec![false; modules];
        for module in draws.choose(modules, count) {
            chosen[module] = true;
        }
        Self { epsilon, chosen }
    }
}

impl Mutation for M2 {
    fn mutate(&self, index: usize, parent: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        if self.chosen[index] { add_noise(parent, self.epsilon, draws, notes) } else { parent }
    }
}

/// M3, component masking: random singular values become zero.
///
/// Zeroes ⌈ρ r⌉ singular values, drawn uniformly without replacement, and splits the rest balanced.
pub(super) struct M3 {
    pub(super) rho: f64,
}

impl Mutation for M3 {
    fn mutate(&self, _: usize, parent: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        let Some(mut svd) = Svd::of(&parent) else {
            notes.count(Note::ZeroCopied);
            return parent;
        };
        let before = svd.s.clone();
        let masked = (self.rho * svd.rank as f64).ceil() as usize;
        for component in draws.choose(svd.rank, masked) {
            svd.s[component] = 0.0;
        }
        svd.split(&before)
    }
}

/// M4, full Gaussian noise: on every module.
///
/// A += N(0, (ε std(A))²) and B likewise.
pub(super) struct M4 {
    pub(super) epsilon: f64,
}

impl Mutation for M4 {
    fn mutate(&self, _: usize, parent: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        add_noise(parent, self.epsilon, draws, notes)
    }
}

/// M5, noise in the style of NEFTune (Jain et al. 2024): uniform, only on the input factor.
///
/// A += Uniform(−α/√(L d), α/√(L d)) for A `[L, d]`, row by row; B stays.
pub(super) struct M5 {
    pub(super) alpha: f64,
}

impl Mutation for M5 {
    fn mutate(&self, _: usize, mut parent: Module, draws: &mut dyn Draws, _: &Notes) -> Module {
        let bound = (self.alpha / (parent.a.len() as f64).sqrt()) as f32;
        draws.with_uniforms(&mut parent.a, |_, values, drawn| {
            for (value, drawn) in values.iter_mut().zip(drawn) {
                *value += bound * (2.0 * drawn - 1.0);
            }
        });
        parent
    }
}

/// M6, rank perturbation (after DyLoRA, Valipour et al. 2023): the tail is cut off, the rest jittered.
///
/// Zeroes the k smallest singular values and multiplies the others by N(1, σ²), from large to small; then the balanced split.
pub(super) struct M6 {
    k: usize,
    sigma: f64,
}

impl M6 {
    /// Refuses a `k` that would leave no component.
    pub(super) fn new(k: f64, sigma: f64, rank: usize) -> Result<Self, OperatorError> {
        if k >= rank as f64 {
            return Err(OperatorError::OutOfRange {
                operator: "M6",
                name: "k",
                value: k,
                valid: format!("whole numbers from 0 to {}, as the parent's rank is {rank}", rank - 1),
            });
        }
        Ok(Self { k: k as usize, sigma })
    }
}

impl Mutation for M6 {
    fn mutate(&self, _: usize, parent: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        let Some(mut svd) = Svd::of(&parent) else {
            notes.count(Note::ZeroCopied);
            return parent;
        };
        let before = svd.s.clone();
        let (kept, cut) = svd.s.split_at_mut(before.len() - self.k);
        cut.fill(0.0);
        let mut jitter = vec![0.0; kept.len()];
        draws.normals(&mut jitter);
        for (s, jitter) in kept.iter_mut().zip(jitter) {
            *s *= 1.0 + self.sigma * f64::from(jitter);
        }
        svd.split(&before)
    }
}

/// Adds noise of `epsilon` standard deviations of each factor: first A, then B, row by row. A constant factor, such as
/// the B of a fresh adapter, gets noise on the scale of a fresh A: uniform values within ±1/√inputs have deviation
/// 1/√(3 · inputs).
pub(super) fn add_noise(module: Module, epsilon: f64, draws: &mut dyn Draws, notes: &Notes) -> Module {
    let fresh = 1.0 / (3.0 * module.inputs as f64).sqrt();
    let mut constant = false;
    let noisy = module.map(|factor| {
        let spread = standard_deviation(factor);
        constant |= spread == 0.0;
        let scale = (epsilon * if spread == 0.0 { fresh } else { spread }) as f32;
        let mut noise = [0.0; 1024];
        for values in factor.chunks_mut(noise.len()) {
            let noise = &mut noise[..values.len()];
            draws.normals(noise);
            for (value, noise) in values.iter_mut().zip(noise.iter()) {
                *value += scale * noise;
            }
        }
    });
    if constant {
        notes.count(Note::InitialScale);
    }
    noisy
}

/// The sample standard deviation (n − 1 in the denominator); 0 for fewer than two values.
fn standard_deviation(values: &[f32]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = sum(values, f64::from) / values.len() as f64;
    let squares = sum(values, |value| {
        let apart = f64::from(value) - mean;
        apart * apart
    });
    (squares / (values.len() - 1) as f64).sqrt()
}

fn sum(values: &[f32], term: impl Fn(f32) -> f64) -> f64 {
    const LANES: usize = 8;
    let chunks = values.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(|&value| term(value)).sum();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += term(chunk[lane]);
        }
    }
    sums.iter().sum::<f64>() + rest
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
            (0..36).map(|index| difference(index / 6, index % 6).abs()).fold(0.0, f64::max)
        };
        // R Rᵀ − I = −ε² K²: dividing ε by 10 divides the error by 100.
        assert!(apart(0.1) > 1e-3);
        assert!((apart(0.1) / apart(0.01) - 100.0).abs() < 1e-6);
    }
}
