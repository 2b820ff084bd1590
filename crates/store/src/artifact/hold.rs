//! Holds on artifacts, and the collection of artifacts without one.

use lyceum_core::artifact::Digest;
use lyceum_core::id::ExecutionId;
use object_store::ObjectStore;
use sqlx::{PgConnection, PgPool};
use std::sync::Arc;
use uuid::Uuid;

use super::ArtifactStore;
use super::store::remove;
use crate::{Result, StoreError};

/// Why an artifact is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Reason {
    /// An item's result refers to it; ends with the item's step.
    Step,
    /// The weights of a version.
    Version,
    /// The optimizer state of one of a member's last two versions.
    Optimizer,
    /// A parent at a birth, kept so that the birth can be replayed.
    Birth,
    /// A fork started from it.
    Fork,
    /// An evaluation measured it.
    Evaluation,
    /// A run's state refers to it.
    State,
}

lyceum_core::named!(Reason, "a reason to keep an artifact");

/// A row that a collection has locked is waited for, and read as it left it.
const HOLD: &str = "
WITH there AS MATERIALIZED (
    SELECT digest FROM artifacts WHERE digest = $1 AND removed_at IS NULL FOR KEY SHARE
),
held AS (
    INSERT INTO artifact_holds (digest, execution_id, reason, holder, step)
    SELECT digest, $2, $3, $4, $5 FROM there ON CONFLICT DO NOTHING
)
SELECT EXISTS (SELECT FROM there)";

/// Keeps `digest` for `holder` (an item, version or evaluation of `execution`).
///
/// # Errors
/// [`StoreError::Removed`] if it was collected before: it has to be written again.
pub async fn hold(
    tx: &mut PgConnection,
    digest: Digest,
    execution: ExecutionId,
    reason: Reason,
    holder: Uuid,
    step: Option<u32>,
) -> Result<()> {
    match hold_if_there(tx, digest, execution, reason, holder, step).await? {
        true => Ok(()),
        false => Err(StoreError::Removed { digest }),
    }
}

/// As [`hold`], for an artifact that may have been collected long ago; says whether it is there.
pub async fn hold_if_there(
    tx: &mut PgConnection,
    digest: Digest,
    execution: ExecutionId,
    reason: Reason,
    holder: Uuid,
    step: Option<u32>,
) -> Result<bool> {
    Ok(sqlx::query_scalar(HOLD)
        .bind(digest.to_string())
        .bind(execution.0)
        .bind(reason)
        .bind(holder)
        .bind(step.map(u32::cast_signed))
        .fetch_one(tx)
        .await?)
}

/// Releases artifacts held only for results of `step`.
pub async fn release_step(tx: &mut PgConnection, execution: ExecutionId, step: u32) -> Result<()> {
    sqlx::query("DELETE FROM artifact_holds WHERE execution_id = $1 AND reason = 'step' AND step <= $2")
        .bind(execution.0)
        .bind(step.cast_signed())
        .execute(tx)
        .await?;
    Ok(())
}

/// Releases artifacts held for earlier states of an execution, except those in `kept`, that is of its latest state.
pub async fn release_state(tx: &mut PgConnection, execution: ExecutionId, kept: &[Digest]) -> Result<()> {
    let kept: Vec<String> = kept.iter().map(Digest::to_string).collect();
    sqlx::query("DELETE FROM artifact_holds WHERE execution_id = $1 AND reason = 'state' AND digest <> ALL($2)")
        .bind(execution.0)
        .bind(&kept)
        .execute(tx)
        .await?;
    Ok(())
}

/// Removes at most `limit` artifacts that are older than an hour and not held; returns how many. The hour covers the
/// time between writing an artifact and writing the result that refers to it.
///
/// # Errors
/// One cannot be removed; those before it are.
pub async fn collect(store: &ArtifactStore, limit: i64) -> Result<u32> {
    let Some((objects, pool)) = store.objects() else { return Ok(0) };
    let unheld: Vec<String> = sqlx::query_scalar(
        "SELECT digest FROM artifacts a WHERE removed_at IS NULL AND created_at < now() - interval '1 hour'
         AND NOT EXISTS (SELECT FROM artifact_holds h WHERE h.digest = a.digest)
         AND NOT EXISTS (SELECT FROM adapters r WHERE r.artifact = a.digest) LIMIT $1",
    )
    .bind(limit)
    .fetch_all(pool)
    .await?;
    let mut removed = 0;
    for digest in unheld.iter().filter_map(|digest| digest.parse().ok()) {
        removed += u32::from(collect_one(objects, pool, digest).await?);
    }
    Ok(removed)
}

/// Removes an artifact if it is still old and not held; says whether it did.
///
/// Its row is locked while the object is removed, and no other: who wants to hold it or write it again waits for that, and no
/// other row waits for a slow bucket. If this process ends in between, the row says that the artifact is there until the next
/// collection.
async fn collect_one(objects: &Arc<dyn ObjectStore>, pool: &PgPool, digest: Digest) -> Result<bool> {
    let mut tx = pool.begin().await?;
    let free = sqlx::query(
        "SELECT FROM artifacts WHERE digest = $1 AND removed_at IS NULL AND created_at < now() - interval '1 hour'
         FOR UPDATE SKIP LOCKED",
    );
    let locked = free.bind(digest.to_string()).fetch_optional(&mut *tx).await?;
    if locked.is_none() {
        return Ok(false);
    }
    // Only a statement that begins after the lock sees every hold.
    let marked = sqlx::query(
        "UPDATE artifacts a SET removed_at = now()
         WHERE digest = $1 AND NOT EXISTS (SELECT FROM artifact_holds h WHERE h.digest = a.digest)
             AND NOT EXISTS (SELECT FROM adapters r WHERE r.artifact = a.digest)",
    )
    .bind(digest.to_string())
    .execute(&mut *tx)
    .await?;
    if marked.rows_affected() == 0 {
        return Ok(false);
    }
    remove(objects, digest).await?;
    tx.commit().await?;
    Ok(true)
}
