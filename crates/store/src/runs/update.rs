//! Changes to a run that do not affect its results.

use lyceum_core::id::{ExecutionId, ExperimentId};
use sqlx::{Acquire, Postgres};

use crate::{Result, StoreError, event};

/// The changes; `None` leaves a field as it is.
#[derive(Clone, Debug, Default)]
pub struct RunChanges<'a> {
    pub name: Option<&'a str>,
    pub note: Option<&'a str>,
    /// Labels.
    pub tags: Option<&'a [String]>,
    pub experiment: Option<ExperimentId>,
    /// Items of runs with a higher priority go first.
    pub priority: Option<i16>,
    /// Maximum number of items in progress at once; 0 means no limit.
    pub max_concurrent: Option<u32>,
}

/// Changes a run.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn update<'c>(
    db: impl Acquire<'c, Database = Postgres>,
    id: ExecutionId,
    changes: &RunChanges<'_>,
) -> Result<()> {
    let mut tx = db.begin().await?;
    let updated = sqlx::query(
        "UPDATE executions SET priority = coalesce($2, priority), updated_at = now(),
             max_concurrent = CASE WHEN $3::integer IS NULL THEN max_concurrent ELSE nullif($3, 0) END
         WHERE id = $1 AND kind = 'run'",
    )
    .bind(id.0)
    .bind(changes.priority)
    .bind(changes.max_concurrent.map(u32::cast_signed))
    .execute(&mut *tx)
    .await?;
    if updated.rows_affected() == 0 {
        return Err(StoreError::not_found("run", id));
    }
    sqlx::query(
        "UPDATE runs SET name = coalesce($2, name), note = coalesce($3, note), tags = coalesce($4, tags),
             experiment_id = coalesce($5, experiment_id) WHERE id = $1",
    )
    .bind(id.0)
    .bind(changes.name)
    .bind(changes.note)
    .bind(changes.tags)
    .bind(changes.experiment.map(|experiment| experiment.0))
    .execute(&mut *tx)
    .await?;
    if let Some(name) = changes.name {
        event::append(&mut tx, id, "renamed", &serde_json::json!({ "name": name })).await?;
    }
    tx.commit().await?;
    Ok(())
}
