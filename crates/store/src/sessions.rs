//! Sessions of browsers, each opened with a token.

use sqlx::{FromRow, PgPool};
use std::time::Duration;

use crate::Result;
use crate::tokens::{self, Token, hash};

/// A session and the token that it was opened with.
#[derive(Clone, Debug, FromRow)]
pub struct Session {
    /// What its forms and scripts must show to change anything.
    pub csrf: String,
    #[sqlx(flatten)]
    pub token: Token,
}

/// Writes a new session with a `lifetime`; only the browser knows `secret`.
pub async fn open(db: &PgPool, token: &Token, secret: &str, csrf: &str, lifetime: Duration) -> Result<()> {
    sqlx::query(
        "WITH over AS (DELETE FROM sessions WHERE expires_at < now())
         INSERT INTO sessions (hash, token_id, csrf, expires_at) VALUES ($1, $2, $3, now() + $4 * interval '1 second')",
    )
    .bind(hash(secret).as_slice())
    .bind(token.id)
    .bind(csrf)
    .bind(lifetime.as_secs_f64())
    .execute(db)
    .await?;
    Ok(())
}

/// The session with this secret, unless it has expired or its token is no longer valid.
pub async fn find(db: &PgPool, secret: &str) -> Result<Option<Session>> {
    let session: Option<Session> = sqlx::query_as(
        "SELECT s.csrf, t.id, t.name, t.scope, t.created_at, t.expires_at, t.last_used_at, t.revoked_at
         FROM sessions s JOIN tokens t ON t.id = s.token_id
         WHERE s.hash = $1 AND s.expires_at > now() AND t.revoked_at IS NULL
             AND (t.expires_at IS NULL OR t.expires_at > now())",
    )
    .bind(hash(secret).as_slice())
    .fetch_optional(db)
    .await?;
    if let Some(session) = &session {
        tokens::used(db, &session.token).await?;
    }
    Ok(session)
}

/// Ends a session.
pub async fn close(db: &PgPool, secret: &str) -> Result<()> {
    sqlx::query("DELETE FROM sessions WHERE hash = $1").bind(hash(secret).as_slice()).execute(db).await?;
    Ok(())
}
