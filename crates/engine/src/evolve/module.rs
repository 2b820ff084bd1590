//! One adapted module, as the operators see it, and notes on its special cases.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The two factors of one adapted module in fp32, row by row, without the scaling α/r.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Rank r.
    pub rank: usize,
    /// Inputs of the module.
    pub inputs: usize,
    /// Outputs of the module.
    pub outputs: usize,
    /// A `[r, inputs]`.
    pub a: Vec<f32>,
    /// B `[outputs, r]`.
    pub b: Vec<f32>,
}

impl Module {
    /// Whether the update BA is zero because a factor is, as in a fresh adapter.
    pub fn is_zero(&self) -> bool {
        let zero = |factor: &[f32]| factor.iter().all(|&value| value == 0.0);
        zero(&self.b) || zero(&self.a)
    }

    /// Whether every value is finite.
    pub(super) fn is_finite(&self) -> bool {
        let finite = |factor: &[f32]| factor.iter().all(|value| value.is_finite());
        finite(&self.a) && finite(&self.b)
    }

    /// Applies `change` to each factor.
    pub(super) fn map(mut self, mut change: impl FnMut(&mut [f32])) -> Self {
        change(&mut self.a);
        change(&mut self.b);
        self
    }

    /// Applies `change` to each factor together with the other module's: first A, then B.
    pub(super) fn zip(mut self, other: &Self, mut change: impl FnMut(&mut [f32], &[f32])) -> Self {
        change(&mut self.a, &other.a);
        change(&mut self.b, &other.b);
        self
    }
}

/// A special case, counted by module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// The update is zero, so it has no singular vectors.
    ZeroCopied,
    /// One parent's update is zero, so the other's module is copied.
    OtherCopied,
    /// A factor is constant, so there is no spread to scale its noise by.
    InitialScale,
    /// Parents are parallel, or one is zero, so spherical interpolation is undefined.
    StraightLine,
}

impl Note {
    fn text(self) -> &'static str {
        match self {
            Self::ZeroCopied => "the update is zero: the module was copied",
            Self::OtherCopied => "one parent's update is zero: the module was copied from the other",
            Self::InitialScale => "a factor is constant: its noise has the scale of a fresh A",
            Self::StraightLine => "the parents are parallel or one is zero: interpolated linearly",
        }
    }
}

/// Notes of one birth. Modules are computed on several threads.
#[derive(Debug, Default)]
pub struct Notes(Mutex<BTreeMap<Note, usize>>);

impl Notes {
    /// Counts one module.
    pub fn count(&self, note: Note) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(note).or_default() += 1;
    }

    /// One sentence per note.
    pub(super) fn texts(self, modules: usize) -> Vec<String> {
        let counts = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sentence = |(note, count): (Note, usize)| format!("{count} of {modules} modules: {}", note.text());
        counts.into_iter().map(sentence).collect()
    }
}
