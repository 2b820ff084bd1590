//! What a worker is doing.

use serde::{Deserialize, Serialize};

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum WorkerState {
    /// Nothing.
    Idle,
    /// Work.
    Busy,
    /// Finishing, and taking nothing new.
    Draining,
    /// It has left.
    Stopped,
    /// It went without a word.
    Lost,
}

lyceum_core::named!(WorkerState, "a state of a worker");
