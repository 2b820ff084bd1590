//! Saved views: pages with all that their addresses say.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgConnection, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Page, Window, by_seq, keyed_by_seq};
use crate::{Result, StoreError};

/// A saved view.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct View {
    /// The view; `/views/ID` opens it.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its name.
    pub name: String,
    /// Path and query of the page.
    pub address: String,
    /// When it was saved.
    pub created_at: DateTime<Utc>,
}

keyed_by_seq!(View);

const COLUMNS: &str = "id, seq, name, address, created_at";

/// Saves a view.
pub async fn create(tx: &mut PgConnection, name: &str, address: &str) -> Result<View> {
    let mut query = QueryBuilder::new("INSERT INTO views (id, name, address) VALUES (");
    query.push_bind(Uuid::now_v7()).push(", ").push_bind(name).push(", ").push_bind(address);
    query.push(format_args!(") RETURNING {COLUMNS}"));
    Ok(query.build_query_as().fetch_one(tx).await?)
}

/// One view.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, id: Uuid) -> Result<View> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM views WHERE id = "));
    query.push_bind(id);
    let view = query.build_query_as().fetch_optional(db).await?;
    view.ok_or_else(|| StoreError::not_found("saved view", id))
}

pub async fn page(db: &PgPool, window: &Window) -> Result<Page<View>> {
    let query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM views WHERE true"));
    by_seq(db, query, "seq", window).await
}

/// Removes a view; the page stays.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn remove(db: &PgPool, id: Uuid) -> Result<()> {
    let removed = sqlx::query("DELETE FROM views WHERE id = $1").bind(id).execute(db).await?;
    match removed.rows_affected() {
        0 => Err(StoreError::not_found("saved view", id)),
        _ => Ok(()),
    }
}
