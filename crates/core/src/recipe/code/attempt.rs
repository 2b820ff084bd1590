//! One graded attempt.

use crate::{verify::ProblemKind, work::WorkKey};

/// A graded attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attempt {
    /// The item it was sampled in, with its request and sample there.
    pub(crate) source: WorkKey,
    pub(crate) request: u32,
    pub(crate) sample: u32,
    /// The type of its problem.
    pub(crate) kind: ProblemKind,
    /// The solver: a position among the members.
    pub(crate) solver: usize,
    /// Its length in tokens.
    pub(crate) tokens: u32,
    /// Mean entropy along it, in nats.
    pub(crate) entropy: Option<f32>,
    /// Whether it has the required form.
    pub(crate) well_formed: bool,
    /// Whether it is well-formed and solves the problem.
    pub(crate) correct: bool,
    /// Its reward.
    pub(crate) reward: f32,
}
