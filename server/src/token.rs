//! Tokens created by the command line, directly in the database, so that operators can always get access.

use chrono::{DateTime, Utc};
use lyceum_store::tokens::{self, Token};
use sqlx::PgPool;

pub use lyceum_store::tokens::Scope;

use crate::access::new_secret;
use crate::settings::Secret;

/// Identifies Lyceum's tokens, for secret scanners.
pub(crate) const PREFIX: &str = "lyc_";

/// Creates a token called `name`. Only the caller gets it, and it cannot be shown again.
///
/// # Errors
/// A database error.
pub async fn create(
    database: &PgPool,
    name: &str,
    scope: Scope,
    expires_at: Option<DateTime<Utc>>,
) -> lyceum_store::Result<(Secret, Token)> {
    let secret = new_secret(PREFIX);
    let mut connection = database.acquire().await?;
    let token = tokens::create(&mut connection, name, scope, expires_at, &secret).await?;
    Ok((Secret::from(secret), token))
}

/// Whether `token` is known and neither revoked nor expired.
///
/// # Errors
/// A database error.
pub async fn is_valid(database: &PgPool, token: &Secret) -> lyceum_store::Result<bool> {
    Ok(tokens::authenticate(database, token.expose()).await?.is_some())
}
