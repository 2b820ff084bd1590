//! What a recipe answers.

use super::{Records, RunState, Want};
use crate::work::{NotAPhase, Payload, Requirements, WorkKey};

/// Everything that should exist now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Rows to write at once.
    pub records: Records,
    /// Items that should be there; those that are there already are left alone.
    pub work: Vec<WorkItem>,
    /// Rows that the recipe must see before it can say more; it is asked again with them in its view.
    pub wants: Vec<Want>,
    /// What an evaluation came to, once its last step is over; a run leaves it empty.
    pub result: Option<serde_json::Value>,
    /// What the run remembers after this step, once the step is over.
    pub finish: Option<RunState>,
}

/// One item of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkItem {
    /// Where it stands; its identity.
    pub key: WorkKey,
    /// What is asked.
    pub payload: Payload,
    /// What a worker must have.
    pub requirements: Requirements,
}

/// Why a recipe cannot go on. The run stops with this as its error; nothing of the plan is carried out.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The run's memory was written by another release and is not understood.
    #[error("the run's state cannot be read: {0}")]
    State(#[from] serde_json::Error),
    /// A result does not fit what was asked.
    #[error("{key}: {detail}")]
    Result {
        /// The item.
        key: WorkKey,
        /// What does not fit.
        detail: String,
    },
    /// A phase with a name that is none.
    #[error(transparent)]
    Phase(#[from] NotAPhase),
    /// Anything else, said to a person.
    #[error("{0}")]
    Other(String),
}
