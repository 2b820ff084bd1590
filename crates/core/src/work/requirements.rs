//! What a worker must have to take an item.

use serde::{Deserialize, Serialize};

/// What a worker must have to take an item, besides serving its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// The base model that must be at hand, by the name that the run's config gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_model: Option<String>,
    /// Memory of the device that the item needs at its peak, in bytes.
    #[serde(default)]
    pub memory_bytes: u64,
}
