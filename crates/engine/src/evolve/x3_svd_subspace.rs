//! X3, SVD subspace crossover: the top of one parent's spectrum, the tail of the other's.

use super::{Crossover, Draws, Module, Note, Notes, Svd};

/// U = [U₁ up to column k | U₂ from column k], Σ and V likewise, with k ~ Uniform{1, …, r − 1} drawn for each module; then the
/// balanced split. At rank 1 the first parent's only component is taken.
pub(super) struct X3;

impl Crossover for X3 {
    fn cross(&self, _: usize, first: Module, second: Module, draws: &mut dyn Draws, notes: &Notes) -> Module {
        let rank = first.rank;
        let k = if rank > 1 { 1 + draws.index(rank - 1) } else { 1 };
        let (mut top, tail) = match (Svd::of(&first), Svd::of(&second)) {
            (Some(top), Some(tail)) => (top, tail),
            (None, Some(_)) => {
                notes.count(Note::OtherCopied);
                return second;
            }
            (Some(_), None) => {
                notes.count(Note::OtherCopied);
                return first;
            }
            (None, None) => {
                notes.count(Note::ZeroCopied);
                return first;
            }
        };
        for (top, tail) in top.u.chunks_exact_mut(rank).zip(tail.u.chunks_exact(rank)) {
            top[k..].copy_from_slice(&tail[k..]);
        }
        top.s[k..].copy_from_slice(&tail.s[k..]);
        let kept = k * first.inputs;
        top.vt[kept..].copy_from_slice(&tail.vt[kept..]);
        let before = top.s.clone();
        top.split(&before)
    }
}
