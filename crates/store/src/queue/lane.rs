//! Kinds of slots, each with its tickets.

use lyceum_core::work::WorkKind;

/// The purpose of a slot: verification runs on any core, other work shares a worker's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// `verify`.
    Verifier,
    /// `rollout`, `update`, `evolve` and `benchmark`.
    Engine,
}

impl Lane {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Verifier, Self::Engine];

    /// The lane of a kind of work.
    pub fn of(kind: WorkKind) -> Self {
        match kind {
            WorkKind::Verify => Self::Verifier,
            WorkKind::Rollout | WorkKind::Update | WorkKind::Evolve | WorkKind::Benchmark => Self::Engine,
        }
    }

    /// The queue's name.
    pub fn queue(self) -> &'static str {
        match self {
            Self::Verifier => "lyceum.verifier",
            Self::Engine => "lyceum.engine",
        }
    }

    /// The kinds of work of this lane.
    pub fn kinds(self) -> impl Iterator<Item = WorkKind> {
        WorkKind::ALL.into_iter().filter(move |kind| Self::of(*kind) == self)
    }
}
