//! Imported adapters, which members may begin with.

use chrono::{DateTime, Utc};
use lyceum_core::artifact::Digest;
use lyceum_core::work::{BaseModel, LoraShape};
use serde::Serialize;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgExecutor, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Page, Window, by_seq, keyed_by_seq};
use crate::{Result, StoreError};

/// An imported adapter.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Adapter {
    /// The adapter.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its name, unique.
    pub name: String,
    /// The base that it was trained on.
    #[schema(value_type = Object)]
    pub base_model: Json<BaseModel>,
    /// Its rank, scale and projections. A population that begins with it has the same.
    #[schema(value_type = Object)]
    pub lora: Json<LoraShape>,
    /// The digest of its files.
    pub artifact: String,
    /// Where it was imported from.
    pub source: String,
    /// When it was imported.
    pub created_at: DateTime<Utc>,
}

keyed_by_seq!(Adapter);

const COLUMNS: &str = "id, seq, name, base_model, lora, artifact, source, created_at";

/// An adapter to write, whose files are stored.
#[derive(Clone, Debug)]
pub struct NewAdapter<'a> {
    pub name: &'a str,
    pub base_model: &'a BaseModel,
    pub lora: &'a LoraShape,
    pub artifact: Digest,
    pub source: &'a str,
}

/// Writes an adapter.
///
/// # Errors
/// [`StoreError::Taken`] if there is one with this name.
pub async fn create(db: impl PgExecutor<'_>, new: &NewAdapter<'_>) -> Result<Adapter> {
    let made = sqlx::query_as(sqlx::AssertSqlSafe(format!(
        "INSERT INTO adapters (id, name, base_model, lora, artifact, source) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (name) DO NOTHING RETURNING {COLUMNS}"
    )))
    .bind(Uuid::now_v7())
    .bind(new.name)
    .bind(Json(new.base_model))
    .bind(Json(new.lora))
    .bind(new.artifact.to_string())
    .bind(new.source)
    .fetch_optional(db)
    .await?;
    made.ok_or_else(|| StoreError::taken("adapter", new.name))
}

/// Imported adapters.
pub async fn page(db: &PgPool, window: &Window) -> Result<Page<Adapter>> {
    let query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM adapters WHERE true"));
    by_seq(db, query, "seq", window).await
}

/// One adapter.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, id: Uuid) -> Result<Adapter> {
    let mut db = db.acquire().await?;
    let found = find_called(&mut db, &id.to_string()).await?;
    found.ok_or_else(|| StoreError::not_found("adapter", id))
}

/// The adapter with this id or name.
pub async fn find_called(db: &mut PgConnection, text: &str) -> Result<Option<Adapter>> {
    let query =
        format!("SELECT {COLUMNS} FROM adapters WHERE id = $1 OR name = $2 ORDER BY id = $1 DESC NULLS LAST LIMIT 1");
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(text.parse::<Uuid>().ok()).bind(text).fetch_optional(db).await?)
}

/// Deletes an adapter. Runs that began with it hold its weights themselves.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn remove(db: &PgPool, id: Uuid) -> Result<()> {
    let removed = sqlx::query("DELETE FROM adapters WHERE id = $1").bind(id).execute(db).await?;
    match removed.rows_affected() {
        0 => Err(StoreError::not_found("adapter", id)),
        _ => Ok(()),
    }
}
