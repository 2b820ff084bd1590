//! Postgres rows, the work queue and the artifact store.
//!
//! Every statement of the product stands in this crate, one room a subject; whoever calls it sees functions and plain
//! structs. Queries are checked by tests against the real Postgres rather than at build time, so that building needs
//! no database.

pub mod archive;
pub mod artifact;
pub mod attempts;
pub mod benchmarks;
pub mod births;
pub mod cross_play;
pub mod datasets;
pub mod error;
pub mod evaluations;
pub mod event;
pub mod executions;
pub mod experiments;
pub mod export;
pub mod gauges;
pub mod idempotency;
pub mod listener;
pub mod matchups;
pub mod members;
pub mod metrics;
pub mod page;
pub mod plan;
pub mod problems;
pub mod queue;
pub mod ratings;
pub mod runs;
mod seed;
pub mod sessions;
pub mod steps;
mod text;
pub mod tokens;
pub mod versions;
pub mod work;
pub mod workers;

pub use error::{Result, StoreError};
pub use seed::Seed;

use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::{str::FromStr as _, time::Duration};

/// The oldest Postgres that the migrations and queries work on (`NULLS NOT DISTINCT` came with it).
pub const OLDEST_POSTGRES: i32 = 150_000;

/// Everything that is kept in Postgres.
#[derive(Clone, Debug)]
pub struct Store {
    pool: PgPool,
}

impl Store {
    /// Connects, and refuses a Postgres that is too old.
    ///
    /// # Errors
    /// An address that is none, a server that does not answer within ten seconds, or one older than [`OLDEST_POSTGRES`].
    pub async fn connect(url: &str, connections: u32) -> Result<Self> {
        let options = PgConnectOptions::from_str(url)?.application_name("lyceum");
        Self::connect_with(options, connections).await
    }

    /// Connects as a worker does: its commits do not wait for the disk, except those of claims, whose fences must never be
    /// given twice. Should Postgres crash, it forgets a worker's last commits of some tenths of a second at the most, in
    /// their order and with all that was built on them, and the items are done again.
    ///
    /// # Errors
    /// As [`Store::connect`].
    pub async fn connect_worker(url: &str, connections: u32) -> Result<Self> {
        let options = PgConnectOptions::from_str(url)?
            .application_name("lyceum-worker")
            .options([("synchronous_commit", "off")]);
        Self::connect_with(options, connections).await
    }

    async fn connect_with(options: PgConnectOptions, connections: u32) -> Result<Self> {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(10))
            .connect_with(options)
            .await?;
        let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
            .fetch_one(&pool)
            .await?;
        if version < OLDEST_POSTGRES {
            return Err(StoreError::PostgresTooOld {
                found: version / 10_000,
                oldest: OLDEST_POSTGRES / 10_000,
            });
        }
        Ok(Self { pool })
    }

    /// The same database by connections of its own, opened as they are needed. A connection is driven by the threads on which
    /// it was opened: whoever must go on while these are blocked shares none with them.
    #[must_use]
    pub fn apart(&self) -> Self {
        let options = (*self.pool.connect_options()).clone();
        Self {
            pool: self.pool.options().clone().connect_lazy_with(options),
        }
    }

    /// Brings the schema up to this release: the product's own tables, then the queue's.
    ///
    /// # Errors
    /// A migration that fails, or a database that a later release has changed.
    pub async fn migrate(&self) -> Result<()> {
        // The queue's own migrations come with its crate, in a schema of their own, and are not written to run twice at
        // once; one lock over both lets two servers start on one database.
        let mut lock = self.pool.acquire().await?;
        sqlx::query("SELECT pg_advisory_lock(hashtext('lyceum.migrate'))")
            .execute(&mut *lock)
            .await?;
        let outcome = self.migrate_locked().await;
        sqlx::query("SELECT pg_advisory_unlock(hashtext('lyceum.migrate'))")
            .execute(&mut *lock)
            .await?;
        outcome
    }

    async fn migrate_locked(&self) -> Result<()> {
        sqlx::migrate!("../../migrations").run(&self.pool).await?;
        queue::migrate(&self.pool).await
    }

    /// The connections.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }
}
