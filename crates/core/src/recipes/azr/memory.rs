//! The memory of an Absolute Zero run between steps.

use serde::{Deserialize, Serialize};

use crate::{
    config::RunConfig,
    kit::{Living, Names, code::Experience, founders},
};

/// The memory of an Absolute Zero run between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) members: Vec<Living>,
    pub(super) experience: Experience,
}

impl Memory {
    pub(super) fn new(config: &RunConfig) -> Self {
        Self {
            members: founders(config, &mut Names::default()),
            experience: Experience::default(),
        }
    }
}
