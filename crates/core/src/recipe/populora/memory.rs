//! What a run of PopuLoRA remembers between steps.

use serde::{Deserialize, Serialize};

use crate::{
    config::RunConfig,
    evolution::Protection,
    rating::Ratings,
    recipe::{Living, Names, code::Experience, founders},
};

/// What a run of PopuLoRA remembers between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    /// The living, in an order that a child keeps by taking the place of the dead.
    pub(super) members: Vec<Living>,
    pub(super) names: Names,
    pub(super) ratings: Ratings,
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
