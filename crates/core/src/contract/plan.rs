//! A recipe's plan, and a run's memory between steps.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::{Records, Want};
use crate::artifact::Digest;
use crate::config::RunConfig;
use crate::id::ExecutionId;
use crate::work::{AdapterRef, NotAPhase, Payload, Requirements, WorkKey};

/// Everything that should exist now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Rows to write immediately.
    pub records: Records,
    /// Items that should exist; existing ones are left alone.
    pub work: Vec<WorkItem>,
    /// Rows that the recipe must see before it can plan further; it plans again with them in its view.
    pub wants: Vec<Want>,
    /// The result of an evaluation after its last step; a run leaves it empty.
    pub result: Option<serde_json::Value>,
    /// The run's memory after this step, once the step is over.
    pub finish: Option<RunState>,
}

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

/// The small, versioned memory of a run from which a step starts. It is stored at the start of every step, so a run
/// resumes after any crash and can be forked at any step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    pub run: ExecutionId,
    /// Its resolved config.
    #[serde(skip)]
    pub config: Arc<RunConfig>,
    /// The next step, from 0.
    pub step: u32,
    /// The stage that the step belongs to; empty in recipes without stages.
    #[serde(default)]
    pub stage: String,
    /// Whether the run is over.
    #[serde(default)]
    pub completed: bool,
    /// Tokens that members have generated; counted only if the config has a budget.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub generated_tokens: u64,
    /// Artifacts that `memory` refers to besides versions, such as embeddings of a buffer; kept as long as the run.
    #[serde(default)]
    pub artifacts: Vec<Digest>,
    /// The version of `memory`'s format.
    pub memory_version: u32,
    /// Data of the recipe: members and their versions, problem pool, ratings, archive, schedules.
    pub memory: serde_json::Value,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl RunState {
    /// The state before step 0 of an execution, with this `memory`.
    ///
    /// # Errors
    /// The memory cannot be serialised as JSON.
    pub fn first<T: Serialize>(run: ExecutionId, config: &RunConfig, memory: &T) -> Result<Self, PlanError> {
        Ok(Self {
            run,
            config: Arc::new(config.clone()),
            step: 0,
            stage: String::new(),
            completed: false,
            generated_tokens: 0,
            artifacts: Vec::new(),
            memory_version: 1,
            memory: serde_json::to_value(memory)?,
        })
    }

    /// The same in a stage; for the first step of a recipe with stages.
    #[must_use]
    pub fn in_stage(mut self, stage: impl Into<String>) -> Self {
        self.stage = stage.into();
        self
    }

    /// Keeps the weights of `adapters` as long as the execution.
    pub fn holding(self, adapters: impl IntoIterator<Item = AdapterRef>) -> Self {
        self.keeping(adapters.into_iter().map(|adapter| adapter.artifact))
    }

    /// Keeps these artifacts as long as the execution.
    #[must_use]
    pub fn keeping(mut self, artifacts: impl IntoIterator<Item = Digest>) -> Self {
        self.artifacts.extend(artifacts);
        self.artifacts.sort();
        self.artifacts.dedup();
        self
    }

    /// The recipe's memory, deserialised.
    pub fn memory<T: serde::de::DeserializeOwned>(&self) -> Result<T, PlanError> {
        Ok(T::deserialize(&self.memory)?)
    }

    /// The state once the step before it has generated `tokens` more.
    #[must_use]
    pub fn having_generated(mut self, tokens: u64) -> Self {
        self.generated_tokens += tokens;
        self.completed |= self.config.is_over(self.step, self.generated_tokens, tokens);
        self
    }

    /// The state before the next step, in `stage` and with this `memory`; completed if this was the config's last step.
    pub fn next<T: Serialize>(&self, stage: impl Into<String>, memory: &T) -> Result<Self, PlanError> {
        let step = self.step + 1;
        Ok(Self {
            step,
            stage: stage.into(),
            completed: self.config.is_over(step, self.generated_tokens, 0),
            memory: serde_json::to_value(memory)?,
            ..self.clone()
        })
    }
}
