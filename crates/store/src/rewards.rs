//! The users' own rewards: Python files by the hash of their content.

use lyceum_core::artifact::Digest;
use lyceum_core::fault::Fault;
use lyceum_core::id::DatasetId;
use serde::Serialize;
use sqlx::{FromRow, PgExecutor};
use utoipa::ToSchema;

use crate::{Result, StoreError};

/// A stored reward.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct StoredReward {
    /// SHA-256 of its text: its name.
    pub digest: String,
    /// Its text, a Python file.
    pub source: String,
}

/// Keeps a reward's text, which was checked; storing it again is harmless.
pub async fn store(db: impl PgExecutor<'_>, source: String) -> Result<StoredReward> {
    let digest = Digest::of(source.as_bytes()).to_string();
    sqlx::query("INSERT INTO rewards (digest, source) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(&digest)
        .bind(&source)
        .execute(db)
        .await?;
    Ok(StoredReward { digest, source })
}

/// The reward with this digest.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: impl PgExecutor<'_>, digest: Digest) -> Result<StoredReward> {
    sqlx::query_as("SELECT digest, source FROM rewards WHERE digest = $1")
        .bind(digest.to_string())
        .fetch_optional(db)
        .await?
        .ok_or_else(|| StoreError::not_found("reward", digest))
}

/// The first row of a dataset that names a reward which is not stored: its index, its line and the digest.
pub async fn first_missing(db: impl PgExecutor<'_>, id: DatasetId) -> Result<Option<(i32, Option<i32>, String)>> {
    // The first condition on the type is that of an index.
    Ok(sqlx::query_as(
        "SELECT index, line, row -> 'oracle' ->> 'file' FROM dataset_rows
         WHERE dataset_id = $1 AND row -> 'oracle' ->> 'type' IN ('script', 'python')
             AND row -> 'oracle' ->> 'type' = 'python'
             AND NOT EXISTS (SELECT FROM rewards WHERE digest = row -> 'oracle' ->> 'file') ORDER BY index LIMIT 1",
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
        Err(error) => Err(error),
    }
}

/// That no reward has this digest, and what would be valid.
pub fn not_stored(digest: &str) -> String {
    format!("no reward {digest} is stored: `lyceum reward add FILE` stores one and prints its digest")
}

/// The rewards that rows of a dataset name, at most `limit` of them.
pub async fn of_dataset(db: impl PgExecutor<'_>, id: DatasetId, limit: u32) -> Result<Vec<StoredReward>> {
    Ok(sqlx::query_as(
        "SELECT digest, source FROM rewards WHERE digest IN (
             SELECT row -> 'oracle' ->> 'file' FROM dataset_rows
             WHERE dataset_id = $1 AND row -> 'oracle' ->> 'type' IN ('script', 'python')) ORDER BY digest LIMIT $2",
    )
    .bind(id.0)
    .bind(limit.cast_signed())
    .fetch_all(db)
    .await?)
}
