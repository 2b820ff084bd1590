//! Responses to creation requests, kept for a day, so a repeated request gets the same response.

use sqlx::{PgConnection, PgExecutor, PgPool, Postgres, Transaction};
use uuid::Uuid;

use crate::Result;

/// What a key was used for.
#[derive(Debug)]
pub enum Used {
    /// For the same request, which got this response.
    Answered {
        /// The HTTP status.
        status: u16,
        /// The body.
        response: serde_json::Value,
    },
    /// For another request.
    Other,
}

/// The state of a key.
#[derive(Debug)]
pub enum Known {
    /// Unused: create in this transaction, then [`keep`] the response.
    New(Transaction<'static, Postgres>),
    /// Used before.
    Used(Used),
    /// A request with this key is in progress.
    Running,
}

/// What `key` of `token` was used for, if anything; `fingerprint` is a hash of the request.
pub async fn find(db: impl PgExecutor<'_>, token: Uuid, key: &str, fingerprint: &[u8]) -> Result<Option<Used>> {
    let row: Option<(Vec<u8>, Option<i16>, Option<serde_json::Value>)> =
        sqlx::query_as("SELECT fingerprint, status, response FROM idempotency_keys WHERE token_id = $1 AND key = $2")
            .bind(token)
            .bind(key)
            .fetch_optional(db)
            .await?;
    Ok(row.map(|(kept, status, response)| match kept == fingerprint {
        false => Used::Other,
        true => Used::Answered {
            status: status.and_then(|status| u16::try_from(status).ok()).unwrap_or(200),
            response: response.unwrap_or_default(),
        },
    }))
}

/// Begins a creation under `key`; keys belong to a `token`. `fingerprint` is a hash of the request.
pub async fn begin(db: &PgPool, token: Uuid, key: &str, fingerprint: &[u8]) -> Result<Known> {
    let mut tx = db.begin().await?;
    let mine: bool = sqlx::query_scalar("SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(format!("lyceum.idempotency/{token}/{key}"))
        .fetch_one(&mut *tx)
        .await?;
    if !mine {
        return Ok(Known::Running);
    }
    sqlx::query("DELETE FROM idempotency_keys WHERE created_at < now() - interval '1 day'").execute(&mut *tx).await?;
    Ok(match find(&mut *tx, token, key, fingerprint).await? {
        None => Known::New(tx),
        Some(used) => Known::Used(used),
    })
}

/// Keeps the response in the transaction of the creation, so either both are written or neither.
pub async fn keep(
    tx: &mut PgConnection,
    token: Uuid,
    key: &str,
    fingerprint: &[u8],
    status: u16,
    response: &serde_json::Value,
) -> Result<()> {
    sqlx::query(
        "INSERT INTO idempotency_keys (token_id, key, fingerprint, status, response) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(token)
    .bind(key)
    .bind(fingerprint)
    .bind(status.cast_signed())
    .bind(response)
    .execute(tx)
    .await?;
    Ok(())
}
