//! Requirements a worker must meet to take an item.

use serde::{Deserialize, Serialize};

use super::{Sampler, Trainer};

/// Requirements a worker must meet to take an item, besides serving its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// The base model it must have, by its name in the run's config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_model: Option<String>,
    /// Peak device memory that the item needs, in bytes.
    #[serde(default)]
    pub memory_bytes: u64,
    /// What generates its tokens; the engine for items without any.
    #[serde(default, skip_serializing_if = "Sampler::is_engine")]
    pub sampler: Sampler,
    /// What takes its optimizer steps; the engine for items that are no updates.
    #[serde(default, skip_serializing_if = "Trainer::is_engine")]
    pub trainer: Trainer,
}
