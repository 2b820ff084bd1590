//! One graded attempt.

use crate::{verify::ProblemKind, work::WorkKey};

/// An attempt, graded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    /// The item that it was drawn in, and the request and sample there.
    pub(crate) source: WorkKey,
    pub(crate) request: u32,
    pub(crate) sample: u32,
    /// The type of its problem.
    pub(crate) kind: ProblemKind,
    /// Who answered: a place among the members.
    pub(crate) solver: usize,
    /// Its length in tokens.
    pub(crate) tokens: u32,
    /// Mean entropy along it, in nats.
    pub(crate) entropy: Option<f32>,
    /// Whether it has the form that was asked for.
    pub(crate) well_formed: bool,
    /// Whether it is well-formed and solves the problem.
    pub(crate) correct: bool,
    /// What it got.
    pub(crate) reward: f32,
}
