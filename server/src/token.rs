//! Tokens as the command line makes them: straight in the database, so that an operator can always get in.

use chrono::{DateTime, Utc};
use lyceum_store::tokens::{self, Token};
use sqlx::PgPool;

pub use lyceum_store::tokens::Scope;

use crate::{access::new_secret, settings::Secret};

/// Marks a token as one of Lyceum's, for those who look for leaked secrets.
pub(crate) const PREFIX: &str = "lyc_";

/// Makes a token called `name`. It is shown to nobody but the caller, and cannot be had again.
///
/// # Errors
/// What the database says.
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
/// What the database says.
pub async fn is_valid(database: &PgPool, token: &Secret) -> lyceum_store::Result<bool> {
    Ok(tokens::authenticate(database, token.expose()).await?.is_some())
}
