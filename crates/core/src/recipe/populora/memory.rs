//! What a run of PopuLoRA remembers between steps.

use serde::{Deserialize, Serialize};

use crate::{
    archive::Archive,
    config::RunConfig,
    evolution::Protection,
    rating::Ratings,
    recipe::selfplay::{Living, Names, Pool, founders},
};

/// What a run of PopuLoRA remembers between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    /// The living, in an order that a child keeps by taking the place of the dead.
    pub(super) members: Vec<Living>,
    pub(super) names: Names,
    pub(super) ratings: Ratings,
    pub(super) protection: Protection,
    pub(super) pool: Pool,
    pub(super) archive: Archive,
    /// Fingerprints of the last valid proposals.
    pub(super) fingerprints: Vec<u32>,
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
