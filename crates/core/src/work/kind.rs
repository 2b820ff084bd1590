//! The five kinds of work.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Generates with adapters, or embeds text.
    Rollout,
    /// Judges untrusted Python and answers in the sandbox. Needs neither libtorch nor a GPU.
    Verify,
    /// Learns: new adapter versions from scored sequences.
    Update,
    /// Makes a child in weight space.
    Evolve,
    /// Measures a frozen version.
    Benchmark,
}

impl WorkKind {
    /// Every kind, in the order of a step.
    pub const ALL: [Self; 5] = [Self::Rollout, Self::Verify, Self::Update, Self::Evolve, Self::Benchmark];

    /// The name used in SQL, in the API and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rollout => "rollout",
            Self::Verify => "verify",
            Self::Update => "update",
            Self::Evolve => "evolve",
            Self::Benchmark => "benchmark",
        }
    }
}

impl fmt::Display for WorkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name is none of the five.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of work: valid are rollout, verify, update, evolve and benchmark")]
pub struct UnknownWorkKind(String);

impl FromStr for WorkKind {
    type Err = UnknownWorkKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| UnknownWorkKind(text.to_owned()))
    }
}
