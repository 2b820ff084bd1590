//! Connecting to the database, with a helpful error for everything that can go wrong.

use std::time::Duration;

use lyceum_store::Store;
use sqlx::{Connection as _, PgConnection};

use crate::settings::DatabaseUrl;

const PATIENCE: Duration = Duration::from_secs(10);

/// Why the database cannot be used. Every message ends with a fix.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// It does not respond.
    #[error("cannot reach the database at {url} ({reason}); check that it is running and that DATABASE_URL is right")]
    Unreachable {
        /// Its address.
        url: DatabaseUrl,
        /// The system's message.
        reason: String,
    },
    /// The user or password is wrong.
    #[error("the database at {url} refuses the user ({reason}); correct the user or password in DATABASE_URL")]
    Refused {
        /// Its address.
        url: DatabaseUrl,
        /// Postgres' message.
        reason: String,
    },
    /// The database does not exist.
    #[error("{reason} at {url}; create it with `createdb -E UTF8`, or correct DATABASE_URL")]
    NoSuchDatabase {
        /// Its address.
        url: DatabaseUrl,
        /// Postgres' message.
        reason: String,
    },
    /// The server is too old.
    #[error("the database at {url} is Postgres {found}, Lyceum needs {oldest} or newer; upgrade it")]
    TooOld {
        /// Its address.
        url: DatabaseUrl,
        /// Its version.
        found: String,
        /// The oldest supported major version.
        oldest: u32,
    },
    /// Its encoding is not UTF-8.
    #[error("the database at {url} is encoded in {encoding}; create one with `createdb -E UTF8 -T template0`")]
    NotUtf8 {
        /// Its address.
        url: DatabaseUrl,
        encoding: String,
    },
}

/// Checks that the database is usable.
///
/// # Errors
/// All of [`DatabaseError`].
pub async fn check(url: &DatabaseUrl) -> Result<(), DatabaseError> {
    let unreachable = |reason: String| DatabaseError::Unreachable { url: url.clone(), reason };
    let connecting = tokio::time::timeout(PATIENCE, PgConnection::connect(url.expose()));
    let mut connection = match connecting.await {
        Err(_) => return Err(unreachable(format!("no response within {} s", PATIENCE.as_secs()))),
        Ok(Err(error)) => return Err(explain(url, error)),
        Ok(Ok(connection)) => connection,
    };
    let facts = "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
                 current_setting('server_encoding')";
    let facts: Result<(i32, String, String), _> = sqlx::query_as(facts).fetch_one(&mut connection).await;
    let (number, found, encoding) = facts.map_err(|error| unreachable(error.to_string()))?;
    let oldest = lyceum_postgres::OLDEST_MAJOR;
    if number.cast_unsigned() < oldest * 10_000 {
        return Err(DatabaseError::TooOld { url: url.clone(), found, oldest });
    }
    if encoding != "UTF8" {
        return Err(DatabaseError::NotUtf8 { url: url.clone(), encoding });
    }
    let _ = connection.close().await;
    Ok(())
}

/// Checks the database, opens a pool of up to `connections` and migrates to this release.
///
/// # Errors
/// One of [`DatabaseError`], a failed migration, or a database migrated by a later release.
pub async fn open(url: &DatabaseUrl, connections: u32) -> anyhow::Result<Store> {
    check(url).await?;
    let store = Store::connect(url.expose(), connections).await?;
    store.migrate().await?;
    Ok(store)
}

/// Classifies errors by SQLSTATE (Postgres manual, appendix A).
fn explain(url: &DatabaseUrl, error: sqlx::Error) -> DatabaseError {
    let url = url.clone();
    let reason = match &error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        sqlx::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    };
    match error.as_database_error().and_then(|error| error.code()).as_deref() {
        Some("28000" | "28P01") => DatabaseError::Refused { url, reason },
        Some("3D000") => DatabaseError::NoSuchDatabase { url, reason },
        _ => DatabaseError::Unreachable { url, reason },
    }
}
