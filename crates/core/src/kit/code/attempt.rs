//! One graded attempt.

use crate::{kit::Sample, verify::ProblemKind};

/// A graded attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    pub(crate) sample: Sample,
    /// The type of its problem.
    pub(crate) kind: ProblemKind,
    /// The solver: a position among the members.
    pub(crate) solver: usize,
    /// Whether it has the required form.
    pub(crate) well_formed: bool,
    /// Whether it is well-formed and solves the problem.
    pub(crate) correct: bool,
    pub(crate) reward: f32,
}
