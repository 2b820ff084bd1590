//! Notes on special cases, for the lineage.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

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
        *self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(note)
            .or_default() += 1;
    }

    /// One sentence per note.
    pub(super) fn texts(self, modules: usize) -> Vec<String> {
        let counts = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let sentence = |(note, count): (Note, usize)| format!("{count} of {modules} modules: {}", note.text());
        counts.into_iter().map(sentence).collect()
    }
}
