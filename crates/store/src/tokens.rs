//! Access tokens, stored only as hashes.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use sqlx::{FromRow, PgConnection, PgPool};
use strum::{IntoStaticStr, VariantArray};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{Result, StoreError};

/// A token's permissions. Each scope includes those before it, but for `worker`, which is apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray, ToSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Scope {
    /// Read what items need, and write artifacts; nothing else.
    Worker,
    /// Read everything.
    Read,
    /// Also create and control runs.
    Write,
    /// Also manage tokens.
    Admin,
}

lyceum_core::named!(Scope, "a scope");

/// A token, without its secret.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Token {
    /// Its id, for revoking it; not the secret.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// Its permissions.
    pub scope: Scope,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was last used, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// The stored hash of a secret. Secrets have 256 random bits, so neither a salt nor a slow hash is needed.
pub fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret).into()
}

/// Writes a new token; only the caller knows `secret`.
pub async fn create(
    tx: &mut PgConnection,
    name: &str,
    scope: Scope,
    expires_at: Option<DateTime<Utc>>,
    secret: &str,
) -> Result<Token> {
    Ok(sqlx::query_as(
        "INSERT INTO tokens (id, name, hash, scope, expires_at) VALUES ($1, $2, $3, $4, $5)
         RETURNING id, name, scope, created_at, expires_at, last_used_at, revoked_at",
    )
    .bind(Uuid::now_v7())
    .bind(name)
    .bind(hash(secret).as_slice())
    .bind(scope)
    .bind(expires_at)
    .fetch_one(tx)
    .await?)
}

/// The token with this secret, unless it was revoked or has expired. Records its use, at most once a minute.
pub async fn authenticate(db: &PgPool, secret: &str) -> Result<Option<Token>> {
    let token: Option<Token> = sqlx::query_as(
        "SELECT id, name, scope, created_at, expires_at, last_used_at, revoked_at FROM tokens
         WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())",
    )
    .bind(hash(secret).as_slice())
    .fetch_optional(db)
    .await?;
    if let Some(token) = &token {
        used(db, token).await?;
    }
    Ok(token)
}

/// Records the use of a token, at most once a minute.
pub(crate) async fn used(db: &PgPool, token: &Token) -> Result<()> {
    let minute = chrono::Duration::minutes(1);
    if token.last_used_at.is_none_or(|last| Utc::now() - last >= minute) {
        sqlx::query(
            "UPDATE tokens SET last_used_at = now()
             WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')",
        )
        .bind(token.id)
        .execute(db)
        .await?;
    }
    Ok(())
}

/// All tokens, newest first.
pub async fn list(db: &PgPool) -> Result<Vec<Token>> {
    Ok(sqlx::query_as(
        "SELECT id, name, scope, created_at, expires_at, last_used_at, revoked_at FROM tokens
         ORDER BY created_at DESC, id DESC",
    )
    .fetch_all(db)
    .await?)
}

/// Revokes a token and ends its sessions. Revoking it again changes nothing.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn revoke(db: &PgPool, id: Uuid) -> Result<()> {
    let mut tx = db.begin().await?;
    let revoked = sqlx::query("UPDATE tokens SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1")
        .bind(id)
        .execute(&mut *tx)
        .await?;
    if revoked.rows_affected() == 0 {
        return Err(StoreError::not_found("token", id));
    }
    sqlx::query("DELETE FROM sessions WHERE token_id = $1").bind(id).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(())
}
