//! Access tokens: made, and kept as hashes only.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use sqlx::PgPool;
use uuid::Uuid;

use crate::settings::Secret;

/// Marks a token as one of Lyceum's, for those who look for leaked secrets.
const PREFIX: &str = "lyc_";

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// To look at everything.
    Read,
    /// And to create and steer runs.
    Write,
    /// And to make tokens.
    Admin,
}

impl Scope {
    /// Its name in the database and in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }
}

/// The hash under which a token is kept: it has 256 random bits, so it needs neither salt nor a slow function.
pub fn hash(token: &Secret) -> [u8; 32] {
    Sha256::digest(token.expose()).into()
}

/// Makes a token called `name`. It is shown to nobody but the caller, and cannot be had again.
///
/// # Errors
/// What the database says.
pub async fn create(database: &PgPool, name: &str, scope: Scope) -> sqlx::Result<Secret> {
    let token = Secret::from(format!(
        "{PREFIX}{}",
        URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
    ));
    sqlx::query("INSERT INTO tokens (id, name, hash, scope) VALUES ($1, $2, $3, $4)")
        .bind(Uuid::now_v7())
        .bind(name)
        .bind(hash(&token).as_slice())
        .bind(scope.name())
        .execute(database)
        .await?;
    Ok(token)
}

/// Whether `token` is known and neither revoked nor expired.
///
/// # Errors
/// What the database says.
pub async fn is_valid(database: &PgPool, token: &Secret) -> sqlx::Result<bool> {
    let valid = "SELECT EXISTS (SELECT FROM tokens WHERE hash = $1 AND revoked_at IS NULL \
                 AND (expires_at IS NULL OR expires_at > now()))";
    sqlx::query_scalar(valid)
        .bind(hash(token).as_slice())
        .fetch_one(database)
        .await
}
