//! The five kinds of work.

use serde::{Deserialize, Serialize};

/// A kind of work.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
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

crate::named!(WorkKind, "a kind of work");

/// A payload or outcome of another kind than the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kind {found} instead of {expected}")]
pub struct WrongKind {
    pub expected: WorkKind,
    /// The kind it has.
    pub found: WorkKind,
}
