//! What a run of RLVR remembers between steps.

use serde::{Deserialize, Serialize};

use crate::{
    config::RunConfig,
    recipe::{Living, Names, founders},
};

/// What a run of RLVR remembers between steps: its members. Rows are drawn from the step's number, so no place in the dataset
/// is kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) members: Vec<Living>,
}

impl Memory {
    pub(super) fn new(config: &RunConfig) -> Self {
        Self {
            members: founders(config, &mut Names::default()),
        }
    }
}
