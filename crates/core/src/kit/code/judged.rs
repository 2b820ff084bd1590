//! A proposal and what happened to it within its step.

use super::{Attempt, Problem};
use crate::{
    archive::Descriptor,
    id::ProblemId,
    kit::{PoolFilter, Sample},
    reward::Solved,
    verify::ProblemKind,
};

/// A proposal after its check, and later with its attempts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    /// Its index among the step's proposals.
    pub(crate) index: u32,
    pub(crate) id: ProblemId,
    pub(crate) kind: ProblemKind,
    /// The proposer: a position among the members.
    pub(crate) proposer: usize,
    pub(crate) solver: usize,
    pub(crate) sample: Sample,
    /// The problem for solvers; `None` if invalid.
    pub(crate) problem: Option<Problem>,
    pub(crate) descriptor: Option<Descriptor>,
    pub(crate) cell: Option<u32>,
    /// See [`crate::duplicate::fingerprint`]; only for valid proposals of a program. A `code_f` problem has its program from
    /// the pool.
    pub(crate) fingerprint: Option<u32>,
    /// The attempts at it, once graded.
    pub(crate) attempts: Vec<Attempt>,
}

impl Judged {
    /// How often it was solved; `None` if invalid.
    pub(crate) fn solved(&self) -> Option<Solved> {
        self.problem.as_ref().map(|_| Solved {
            solved: self.attempts.iter().filter(|attempt| attempt.correct).count() as u32,
            attempts: self.attempts.len() as u32,
        })
    }

    /// Whether it is valid and passes `filter` into the pool.
    pub(crate) fn enters(&self, filter: PoolFilter) -> bool {
        self.solved().is_some_and(|solved| match filter {
            PoolFilter::All => true,
            PoolFilter::NonOne => solved.solved < solved.attempts,
            PoolFilter::NonExtremes => (1..solved.attempts).contains(&solved.solved),
        })
    }
}
