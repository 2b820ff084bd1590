//! M6, rank perturbation (after DyLoRA, Valipour et al. 2023): the tail is cut off, the rest jittered.

use lyceum_core::evolution::OperatorError;

use super::{Draws, Module, Mutation, Note, Notes, Svd};

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
