//! Holds on artifacts, and the collection of artifacts without one.

use lyceum_core::{artifact::Digest, id::ExecutionId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{ArtifactStore, store::remove};
use crate::Result;

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

/// Keeps `digest` for `holder` (an item, version or evaluation of `execution`).
pub async fn hold(
    tx: &mut PgConnection,
    digest: Digest,
    execution: ExecutionId,
    reason: Reason,
    holder: Uuid,
    step: Option<u32>,
) -> Result<()> {
    sqlx::query(
        "INSERT INTO artifact_holds (digest, execution_id, reason, holder, step) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING",
    )
    .bind(digest.to_string())
    .bind(execution.0)
    .bind(reason)
    .bind(holder)
    .bind(step.map(u32::cast_signed))
    .execute(tx)
    .await?;
    Ok(())
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
pub async fn collect(store: &ArtifactStore, limit: i64) -> Result<u32> {
    let Some((objects, pool)) = store.objects() else {
        return Ok(0);
    };
    let mut tx = pool.begin().await?;
    let unheld: Vec<String> = sqlx::query_scalar(
        "UPDATE artifacts SET removed_at = now() WHERE digest IN (
             SELECT digest FROM artifacts a WHERE removed_at IS NULL AND created_at < now() - interval '1 hour'
             AND NOT EXISTS (SELECT FROM artifact_holds h WHERE h.digest = a.digest)
             LIMIT $1 FOR UPDATE SKIP LOCKED)
         RETURNING digest",
    )
    .bind(limit)
    .fetch_all(&mut *tx)
    .await?;
    let mut removed = 0;
    for digest in unheld.iter().filter_map(|digest| digest.parse().ok()) {
        remove(objects, digest).await?;
        removed += 1;
    }
    tx.commit().await?;
    Ok(removed)
}
