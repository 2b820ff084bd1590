//! Two runs to show beside each other, and the runs to choose them from.

use lyceum_core::id::ExecutionId;
use lyceum_store::runs::{self, Run};
use sqlx::PgPool;
use uuid::Uuid;

use super::{other_runs, view::View};
use crate::api_error::ApiError;

/// Recent runs to choose from.
const CHOICES: u32 = 50;

pub(super) struct TwoRuns {
    /// The chosen ones: none, one or two.
    pub(super) shown: Vec<Run>,
    /// Recent runs and the chosen ones.
    pub(super) choices: Vec<Run>,
}

impl TwoRuns {
    pub(super) async fn read(
        view: &View,
        db: &PgPool,
        left: Option<Uuid>,
        right: Option<Uuid>,
    ) -> Result<Self, ApiError> {
        let mut choices = other_runs::newest(view, db, CHOICES).await?;
        let mut shown = Vec::new();
        for id in [left, right].into_iter().flatten() {
            shown.push(runs::find(db, ExecutionId(id)).await?.run);
        }
        for run in &shown {
            if choices.iter().all(|one| one.id != run.id) {
                choices.push(run.clone());
            }
        }
        Ok(Self { shown, choices })
    }

    /// The last step that all chosen runs have finished, or 0.
    pub(super) fn last_step(&self) -> u32 {
        let last = self.shown.iter().map(|run| run.step - 1).min();
        last.unwrap_or(0).max(0).cast_unsigned()
    }
}
