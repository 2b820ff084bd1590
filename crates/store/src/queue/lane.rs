//! Kinds of slots, each with its tickets.

use lyceum_core::work::{Sampler, WorkKind};

/// The purpose of a slot: verification runs on any core, what a server generates takes no more than waiting, other work
/// shares a worker's device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// `verify`.
    Verifier,
    /// `rollout`, `update`, `evolve` and `benchmark` on the engine.
    Engine,
    /// `rollout` and `benchmark` on a server.
    Served,
}

impl Lane {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Verifier, Self::Engine, Self::Served];

    /// The lane of work of a kind whose tokens `sampler` generates.
    pub fn of(kind: WorkKind, sampler: Sampler) -> Self {
        match (kind, sampler) {
            (WorkKind::Verify, _) => Self::Verifier,
            (WorkKind::Rollout | WorkKind::Benchmark, Sampler::Served) => Self::Served,
            (WorkKind::Rollout | WorkKind::Update | WorkKind::Evolve | WorkKind::Benchmark, _) => Self::Engine,
        }
    }

    /// The queue's name.
    pub fn queue(self) -> &'static str {
        match self {
            Self::Verifier => "lyceum.verifier",
            Self::Engine => "lyceum.engine",
            Self::Served => "lyceum.served",
        }
    }

    /// What generates the tokens of its items.
    pub fn sampler(self) -> Sampler {
        match self {
            Self::Verifier | Self::Engine => Sampler::Engine,
            Self::Served => Sampler::Served,
        }
    }

    /// The kinds of work of this lane.
    pub fn kinds(self) -> impl Iterator<Item = WorkKind> {
        WorkKind::ALL
            .into_iter()
            .filter(move |kind| Self::of(*kind, self.sampler()) == self)
    }
}
