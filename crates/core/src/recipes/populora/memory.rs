//! The memory of a PopuLoRA run between steps.

use serde::{Deserialize, Serialize};

use crate::{
    config::RunConfig,
    evolution::Protection,
    kit::{Living, Names, code::Experience, founders},
    rating::RunRatings,
};

/// The memory of a PopuLoRA run between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    /// The living members; a child takes the position of the dead one.
    pub(super) members: Vec<Living>,
    pub(super) names: Names,
    #[serde(flatten)]
    pub(super) ratings: RunRatings,
    pub(super) protection: Protection,
    pub(super) experience: Experience,
}

impl Memory {
    pub(super) fn new(config: &RunConfig) -> Self {
        let mut names = Names::default();
        Self {
            members: founders(config, &mut names),
            names,
            ..Self::default()
        }
    }
}
