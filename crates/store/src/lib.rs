//! Postgres rows, the work queue and the artifact store.
//!
//! All SQL of the product is in this crate, in a module per subject; callers see functions and plain structs. Queries
//! are checked by tests against a real Postgres rather than at build time, so building needs no database.

pub mod adapters;
pub mod alerts;
pub mod archive;
pub mod artifact;
pub mod attempts;
pub mod benchmarks;
pub mod births;
pub mod crashes;
pub mod cross_play;
pub mod dataset_rows;
pub mod datasets;
pub mod diversity;
pub mod error;
pub mod evaluations;
pub mod event;
pub mod executions;
pub mod experiments;
pub mod export;
pub mod gauges;
pub mod geometry;
pub mod goalposts;
pub mod held_out;
pub mod idempotency;
pub mod listener;
pub mod matchups;
pub mod members;
pub mod metrics;
pub mod migrations;
pub mod page;
pub mod plan;
pub mod problems;
pub mod queue;
pub mod ratings;
mod remote;
pub mod rewards;
pub mod runs;
pub mod search;
mod seed;
pub mod sessions;
pub mod shares;
pub mod standstill;
pub mod steps;
pub mod sweeps;
mod text;
pub mod tokens;
pub mod versions;
pub mod views;
pub mod webhooks;
pub mod work;
pub mod worker_role;
pub mod workers;

pub use error::{Result, StoreError};
pub use remote::{Remote, RemoteError};
pub use seed::Seed;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use std::str::FromStr as _;
use std::time::Duration;

/// The oldest Postgres that the migrations and queries work on (`NULLS NOT DISTINCT` came with it).
pub const OLDEST_POSTGRES: i32 = 150_000;

/// Access to the database.
#[derive(Clone, Debug)]
pub struct Store {
    pool: PgPool,
}

impl Store {
    /// Connects and checks the version of Postgres.
    ///
    /// # Errors
    /// The address is malformed, the server does not answer within ten seconds, or it is older than
    /// [`OLDEST_POSTGRES`].
    pub async fn connect(url: &str, connections: u32) -> Result<Self> {
        let options = PgConnectOptions::from_str(url)?.application_name("lyceum");
        Self::connect_with(options, connections).await
    }

    /// Connects for a worker: commits do not wait for the disk, except those of claims, whose fences must never be
    /// given twice. A crash of Postgres loses the commits of the last few tenths of a second, in order, and the items
    /// are done again.
    ///
    /// # Errors
    /// As [`Store::connect`].
    pub async fn connect_worker(url: &str, connections: u32) -> Result<Self> {
        let options =
            PgConnectOptions::from_str(url)?.application_name("lyceum-worker").options([("synchronous_commit", "off")]);
        Self::connect_with(options, connections).await
    }

    async fn connect_with(options: PgConnectOptions, connections: u32) -> Result<Self> {
        // Compilation costs more than it saves on queries as short as ours, which are planned anew for each request.
        let options = options.options([("jit", "off")]);
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(Duration::from_secs(10))
            .connect_with(options)
            .await?;
        let version: i32 =
            sqlx::query_scalar("SELECT current_setting('server_version_num')::int").fetch_one(&pool).await?;
        if version < OLDEST_POSTGRES {
            return Err(StoreError::PostgresTooOld { found: version / 10_000, oldest: OLDEST_POSTGRES / 10_000 });
        }
        Ok(Self { pool })
    }

    /// The same database with separate connections, opened on demand. A connection is driven by the threads that opened
    /// it, so code that must not wait for those threads needs its own.
    #[must_use]
    pub fn apart(&self) -> Self {
        let options = (*self.pool.connect_options()).clone();
        Self { pool: self.pool.options().clone().connect_lazy_with(options) }
    }

    /// Brings the schema up to this release. One that a later release has only added to is left as it is.
    ///
    /// # Errors
    /// A migration fails, or a later release has removed what this one needs.
    pub async fn migrate(&self) -> Result<()> {
        // The queue's migrations come with its crate, in their own schema, and must not run concurrently; one lock over
        // both lets two servers start on one database.
        let mut lock = self.pool.acquire().await?;
        sqlx::query("SELECT pg_advisory_lock(hashtext('lyceum.migrate'))").execute(&mut *lock).await?;
        let outcome = migrations::run(&self.pool).await;
        sqlx::query("SELECT pg_advisory_unlock(hashtext('lyceum.migrate'))").execute(&mut *lock).await?;
        outcome
    }

    /// The connection pool.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }
}
