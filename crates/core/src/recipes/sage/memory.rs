//! What a run remembers between steps.

use serde::{Deserialize, Serialize};

use crate::kit::{Living, Pool};

/// What a run remembers between steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) members: Vec<Living>,
    /// The tasks that joined the growing set, oldest first.
    pub(super) pool: Pool,
}

impl Memory {
    /// The memory of a run that has not begun.
    pub(super) fn new(members: Vec<Living>) -> Self {
        Self {
            members,
            pool: Pool::empty(),
        }
    }
}
