//! Bringing the schema up to this release, and working on a schema that a later release has expanded.

use sqlx::migrate::Migrator;
use sqlx::{PgConnection, PgPool};

use crate::error::{Result, StoreError};
use crate::queue;

static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// A database's schema as this release sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schema {
    /// This many migrations of this release are missing, all of them if the database is empty.
    Behind(usize),
    /// It is this release's.
    Current,
    /// A later release has only added to it, so this one can use it.
    Expanded { release: String },
    /// A later release has taken away what this one needs.
    Contracted { release: String },
}

impl Schema {
    /// Reads it. Nothing is written.
    ///
    /// # Errors
    /// The database does not respond.
    pub async fn of(connection: &mut PgConnection) -> Result<Self> {
        let is_empty: bool =
            sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NULL").fetch_one(&mut *connection).await?;
        if is_empty {
            return Ok(Self::Behind(MIGRATOR.iter().count()));
        }
        let applied: Vec<i64> = sqlx::query_scalar("SELECT version FROM _sqlx_migrations ORDER BY version")
            .fetch_all(&mut *connection)
            .await?;
        let newest = applied.last().copied().unwrap_or_default();
        if newest <= known() {
            let missing = MIGRATOR.iter().filter(|migration| !applied.contains(&migration.version)).count();
            return Ok(if missing == 0 { Self::Current } else { Self::Behind(missing) });
        }
        let release: Option<String> = sqlx::query_scalar(
            "SELECT release FROM schema_releases WHERE migration <= $1 ORDER BY migration DESC LIMIT 1",
        )
        .bind(newest)
        .fetch_optional(&mut *connection)
        .await?;
        let release = release.unwrap_or_else(|| format!("with migration {newest}"));
        let bound: i64 = sqlx::query_scalar("SELECT migration FROM schema_bound").fetch_one(&mut *connection).await?;
        Ok(if bound <= known() { Self::Expanded { release } } else { Self::Contracted { release } })
    }
}

/// The last migration of this release.
fn known() -> i64 {
    MIGRATOR.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// Applies what is missing: the product's migrations, then the queue's. Must not run concurrently.
pub(crate) async fn run(pool: &PgPool) -> Result<()> {
    let mut connection = pool.acquire().await?;
    match Schema::of(&mut connection).await? {
        Schema::Contracted { release } => return Err(StoreError::OfLaterRelease { release }),
        Schema::Expanded { release } => {
            tracing::warn!(%release, "a later release has added to the database's schema; upgrade this server as well");
            return Ok(());
        }
        Schema::Behind(_) | Schema::Current => MIGRATOR.run_direct(None, &mut *connection, false).await?,
    }
    sqlx::query("INSERT INTO schema_releases VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(known())
        .bind(env!("CARGO_PKG_VERSION"))
        .execute(&mut *connection)
        .await?;
    drop(connection);
    queue::migrate(pool).await
}
