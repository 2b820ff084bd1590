//! States of items.

use serde::{Deserialize, Serialize};

/// States of items.
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
pub enum WorkState {
    /// It waits for a worker.
    Ready,
    /// A worker holds it.
    Running,
    /// It has a result.
    Done,
    /// It has no tries left.
    Failed,
    /// Its run was cancelled.
    Cancelled,
}

lyceum_core::named!(WorkState, "a state of an item");
