//! A recipe's plan.

use super::{Records, RunState, Want};
use crate::work::{NotAPhase, Payload, Requirements, WorkKey};

/// Everything that should exist now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Rows to write immediately.
    pub records: Records,
    /// Items that should exist; existing ones are left alone.
    pub work: Vec<WorkItem>,
    /// Rows that the recipe must see before it can plan further; it is asked again with them in its view.
    pub wants: Vec<Want>,
    /// The result of an evaluation after its last step; a run leaves it empty.
    pub result: Option<serde_json::Value>,
    /// The run's memory after this step, once the step is over.
    pub finish: Option<RunState>,
}

/// One item of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkItem {
    /// Its place in the run, which is its identity.
    pub key: WorkKey,
    /// The work to do.
    pub payload: Payload,
    /// Requirements a worker must meet.
    pub requirements: Requirements,
}

/// Why a recipe cannot go on. The run stops with this error, and no part of the plan is carried out.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The run's memory was written by another release and cannot be read.
    #[error("the run's state cannot be read: {0}")]
    State(#[from] serde_json::Error),
    /// A result does not match the request.
    #[error("{key}: {detail}")]
    Result {
        /// The item.
        key: WorkKey,
        /// The mismatch.
        detail: String,
    },
    /// A phase name is not valid.
    #[error(transparent)]
    Phase(#[from] NotAPhase),
    /// Any other reason, as text.
    #[error("{0}")]
    Other(String),
}
