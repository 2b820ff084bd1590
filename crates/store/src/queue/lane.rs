//! Tickets for slots of one sort.

use lyceum_core::work::WorkKind;

/// What a slot is for: verification runs on any core, the rest shares a worker's device.
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

    /// Where a kind of work is announced.
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

    /// The kinds announced here.
    pub fn kinds(self) -> impl Iterator<Item = WorkKind> {
        WorkKind::ALL.into_iter().filter(move |kind| Self::of(*kind) == self)
    }
}
