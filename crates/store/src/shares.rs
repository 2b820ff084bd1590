//! Share links: each shows one page, to whoever has it, until it expires.

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Page, Window, by_seq, keyed_by_seq};
use crate::tokens::hash;
use crate::{Result, StoreError};

/// A share link, without its secret.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Share {
    /// Its id, for revoking it; not the secret.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Path and query of the page that it shows.
    pub address: String,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it expires.
    pub expires_at: DateTime<Utc>,
}

keyed_by_seq!(Share);

const COLUMNS: &str = "s.id, s.seq, s.address, s.created_at, s.expires_at";

/// Writes a share link; only its holders know `secret`.
pub async fn create(db: &PgPool, secret: &str, address: &str, owner: Uuid, expires_at: DateTime<Utc>) -> Result<Share> {
    let mut query = QueryBuilder::new("INSERT INTO shares AS s (id, hash, address, token_id, expires_at) VALUES (");
    query.push_bind(Uuid::now_v7()).push(", ").push_bind(hash(secret).to_vec()).push(", ");
    query.push_bind(address).push(", ").push_bind(owner).push(", ").push_bind(expires_at);
    query.push(format_args!(") RETURNING {COLUMNS}"));
    Ok(query.build_query_as().fetch_one(db).await?)
}

/// The link with this secret, which may have expired; none if it is unknown, or the token of its owner is no longer valid.
pub async fn find(db: &PgPool, secret: &str) -> Result<Option<Share>> {
    let mut query = QueryBuilder::new(format!(
        "SELECT {COLUMNS} FROM shares s JOIN tokens t ON t.id = s.token_id
         WHERE t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now()) AND s.hash = "
    ));
    query.push_bind(hash(secret).to_vec());
    Ok(query.build_query_as().fetch_optional(db).await?)
}

/// All links that have not expired.
pub async fn page(db: &PgPool, window: &Window) -> Result<Page<Share>> {
    let query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM shares s WHERE s.expires_at > now()"));
    by_seq(db, query, "s.seq", window).await
}

/// Revokes a link.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn revoke(db: &PgPool, id: Uuid) -> Result<()> {
    let removed = sqlx::query("DELETE FROM shares WHERE id = $1").bind(id).execute(db).await?;
    match removed.rows_affected() {
        0 => Err(StoreError::not_found("share link", id)),
        _ => Ok(()),
    }
}
