//! What a run remembers between steps.

use serde::{Deserialize, Serialize};

use crate::{artifact::Digest, id::ProblemId, kit::Living, work::AdapterRef};

/// What a run remembers between steps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    pub(super) members: Vec<Living>,
    /// Each member's version at the start of the stage.
    #[serde(default)]
    pub(super) stage_start: Vec<Option<AdapterRef>>,
    /// The valid questions of the last curriculum, in order.
    #[serde(default)]
    pub(super) curriculum: Vec<ProblemId>,
    /// The places in it of the questions that solvers learn from.
    #[serde(default)]
    pub(super) pool: Vec<u32>,
    /// The embeddings of each earlier curriculum, and the number of its questions.
    #[serde(default)]
    pub(super) embedded: Vec<(Digest, u32)>,
}
