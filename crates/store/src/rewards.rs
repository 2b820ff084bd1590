//! The users' own rewards: Python files by the hash of their content.

use chrono::{DateTime, Utc};
use lyceum_core::artifact::Digest;
use lyceum_core::fault::Fault;
use lyceum_core::id::DatasetId;
use serde::Serialize;
use serde_json::Value;
use sqlx::{FromRow, PgExecutor, PgPool};
use utoipa::ToSchema;

use crate::{Result, StoreError};

/// A stored reward.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct StoredReward {
    /// SHA-256 of its text: its name.
    pub digest: String,
    /// Its text, a Python file; empty once it was removed.
    pub source: String,
    /// When it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_at: Option<DateTime<Utc>>,
}

/// Keeps a reward's text, which was checked; storing it again is harmless, and brings back one that was removed.
pub async fn store(db: impl PgExecutor<'_>, source: String) -> Result<StoredReward> {
    let digest = Digest::of(source.as_bytes()).to_string();
    sqlx::query(
        "INSERT INTO rewards (digest, source) VALUES ($1, $2)
         ON CONFLICT (digest) DO UPDATE SET source = excluded.source, removed_at = NULL WHERE rewards.removed_at IS NOT NULL",
    )
    .bind(&digest)
    .bind(&source)
    .execute(db)
    .await?;
    Ok(StoredReward { digest, source, removed_at: None })
}

/// The reward with this digest.
///
/// # Errors
/// [`StoreError::NotFound`]; [`StoreError::RemovedReward`].
pub async fn find(db: impl PgExecutor<'_>, digest: Digest) -> Result<StoredReward> {
    let found: Option<StoredReward> =
        sqlx::query_as("SELECT digest, source, removed_at FROM rewards WHERE digest = $1")
            .bind(digest.to_string())
            .fetch_optional(db)
            .await?;
    match found {
        None => Err(StoreError::not_found("reward", digest)),
        Some(StoredReward { removed_at: Some(at), .. }) => Err(StoreError::RemovedReward { digest, at }),
        Some(reward) => Ok(reward),
    }
}

/// Removes a reward's text; its digest stays.
///
/// # Errors
/// [`StoreError::NotFound`]; [`StoreError::RemovedReward`]; [`StoreError::InUse`] if a run or evaluation that has not finished uses
/// it.
pub async fn remove(db: &PgPool, digest: Digest) -> Result<()> {
    let mut tx = db.begin().await?;
    sqlx::query("SELECT FROM rewards WHERE digest = $1 FOR UPDATE").bind(digest.to_string()).execute(&mut *tx).await?;
    find(&mut *tx, digest).await?;
    let users: Vec<String> = sqlx::query_scalar(
        "SELECT concat(e.kind, ' ', e.id, ' (', e.state, ')') FROM executions e
         WHERE e.finished_at IS NULL AND (
             jsonb_path_exists(e.config, '$.** ? (@ == $id)', jsonb_build_object('id', $1::text))
             OR EXISTS (SELECT FROM datasets d JOIN dataset_rows r ON r.dataset_id = d.id
                 WHERE jsonb_path_exists(e.config, '$.** ? (@ == $id)', jsonb_build_object('id', d.id::text))
                     AND r.row -> 'oracle' ->> 'type' IN ('script', 'python') AND r.row -> 'oracle' ->> 'file' = $1))
         ORDER BY e.seq",
    )
    .bind(digest.to_string())
    .fetch_all(&mut *tx)
    .await?;
    if !users.is_empty() {
        return Err(StoreError::InUse { what: "reward", name: digest.to_string(), users: users.join(", ") });
    }
    sqlx::query("UPDATE rewards SET source = '', removed_at = now() WHERE digest = $1")
        .bind(digest.to_string())
        .execute(&mut *tx)
        .await?;
    tx.commit().await?;
    Ok(())
}

/// The removed rewards that a config names, and when each was removed.
pub async fn removed_of(db: impl PgExecutor<'_>, config: &Value) -> Result<Vec<(String, DateTime<Utc>)>> {
    Ok(sqlx::query_as(
        "SELECT digest, removed_at FROM rewards WHERE removed_at IS NOT NULL
             AND jsonb_path_exists($1, '$.** ? (@ == $digest)', jsonb_build_object('digest', digest)) ORDER BY digest",
    )
    .bind(config)
    .fetch_all(db)
    .await?)
}

/// The first row of a dataset that names a reward whose text is not stored: its index, its line and the digest.
pub async fn first_missing(db: impl PgExecutor<'_>, id: DatasetId) -> Result<Option<(i32, Option<i32>, String)>> {
    // The first condition on the type is that of an index.
    Ok(sqlx::query_as(
        "SELECT index, line, row -> 'oracle' ->> 'file' FROM dataset_rows
         WHERE dataset_id = $1 AND row -> 'oracle' ->> 'type' IN ('script', 'python')
             AND row -> 'oracle' ->> 'type' = 'python'
             AND NOT EXISTS (SELECT FROM rewards WHERE digest = row -> 'oracle' ->> 'file' AND removed_at IS NULL) ORDER BY index LIMIT 1",
    )
    .bind(id.0)
    .fetch_optional(db)
    .await?)
}

/// The fault at `pointer`, which names a reward that is not stored; `None` if it is.
pub async fn unknown(db: impl PgExecutor<'_>, pointer: impl Into<String>, digest: Digest) -> Result<Option<Fault>> {
    match find(db, digest).await {
        Ok(_) => Ok(None),
        Err(StoreError::NotFound { .. }) => Ok(Some(Fault::new(pointer, not_stored(&digest.to_string())))),
        Err(error @ StoreError::RemovedReward { .. }) => Ok(Some(Fault::new(pointer, error.to_string()))),
        Err(error) => Err(error),
    }
}

/// That no reward has this digest, and what would be valid.
pub fn not_stored(digest: &str) -> String {
    format!("no reward {digest} is stored: `lyceum reward add FILE` stores one and prints its digest")
}

/// The rewards that rows of a dataset name, removed ones among them, at most `limit` of them.
pub async fn of_dataset(db: impl PgExecutor<'_>, id: DatasetId, limit: u32) -> Result<Vec<StoredReward>> {
    Ok(sqlx::query_as(
        "SELECT digest, source, removed_at FROM rewards WHERE digest IN (
             SELECT row -> 'oracle' ->> 'file' FROM dataset_rows
             WHERE dataset_id = $1 AND row -> 'oracle' ->> 'type' IN ('script', 'python')) ORDER BY digest LIMIT $2",
    )
    .bind(id.0)
    .bind(limit.cast_signed())
    .fetch_all(db)
    .await?)
}
