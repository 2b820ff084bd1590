//! What every page of a run has above it: its name, its state and the tabs.

use lyceum_core::id::ExecutionId;
use lyceum_store::{
    executions::State,
    runs::{self, Run, RunDetail},
};
use serde::Serialize;
use sqlx::PgPool;

use super::layout::{Link, Tab, tabs};
use crate::api_error::ApiError;

/// A run as `run/frame.html` shows it. In the page's JSON it is the run.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RunFrame {
    /// The run in full.
    #[serde(flatten)]
    pub(crate) detail: RunDetail,
    #[serde(skip)]
    pub(crate) tabs: Vec<Link>,
}

impl RunFrame {
    /// Reads the run `id`, of which the page `open` is shown.
    ///
    /// # Errors
    /// 404 where there is no such run.
    pub(crate) async fn load(db: &PgPool, id: ExecutionId, open: Tab) -> Result<Self, ApiError> {
        let detail = runs::find(db, id).await?;
        Ok(Self {
            tabs: tabs(detail.run.id, open),
            detail,
        })
    }

    /// The run as lists show it.
    pub(crate) fn run(&self) -> &Run {
        &self.detail.run
    }

    /// How much of it is over, from 0 to 100.
    pub(crate) fn percent(&self) -> i64 {
        let run = self.run();
        (i64::from(run.step) * 100 / i64::from(run.steps.max(1))).clamp(0, 100)
    }

    /// The last step that there is anything of: the one that goes on, or the last of all.
    pub(crate) fn last_step(&self) -> i32 {
        let run = self.run();
        (run.step - i32::from(run.state == State::Completed)).max(0)
    }

    /// The step before which a fork would branch off if nothing else is said: the one that it is at, or its last.
    pub(crate) fn fork_step(&self) -> i32 {
        let run = self.run();
        run.step.min(run.steps - 1).max(0)
    }

    /// Whether its work is being done, or could be.
    pub(crate) fn is_open(&self) -> bool {
        self.run().state.is_open()
    }
}
