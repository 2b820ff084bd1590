//! States of workers.

use serde::{Deserialize, Serialize};

/// States of workers.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
    schemars::JsonSchema,
)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum WorkerState {
    /// Waiting for work.
    Idle,
    /// Working.
    Busy,
    /// Finishing, without taking new work.
    Draining,
    /// It has left.
    Stopped,
    /// It disappeared.
    Lost,
}

lyceum_core::named!(WorkerState, "a state of a worker");
