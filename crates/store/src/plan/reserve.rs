//! The right to plan an execution, which one process has at a time.

use lyceum_core::id::ExecutionId;
use sqlx::{
    Either, PgConnection, PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgAdvisoryLock, PgAdvisoryLockGuard, PgAdvisoryLockKey},
};

use crate::Result;

/// The right to plan an execution. It ends with its connection, so with its process at the latest: a record of a planning
/// that somebody else began and did not end is then a crash, and not a planning that goes on at the same time.
pub struct Reserved(PgAdvisoryLockGuard<PoolConnection<Postgres>>);

/// Reserves an execution. `None` if another process has it; that one must look whether it is still [due](super::due()) once it has
/// released it, since nobody else acts on what ended in the meantime.
pub async fn reserve(db: &PgPool, id: ExecutionId) -> Result<Option<Reserved>> {
    let (high, low) = id.0.as_u64_pair();
    let lock = PgAdvisoryLock::with_key(PgAdvisoryLockKey::BigInt((high ^ low).cast_signed()));
    Ok(match lock.try_acquire(db.acquire().await?).await? {
        Either::Left(guard) => Some(Reserved(guard)),
        Either::Right(_) => None,
    })
}

impl Reserved {
    /// The connection that has the right.
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.0
    }

    /// Gives the right back.
    pub async fn release(self) -> Result<()> {
        self.0.release_now().await?;
        Ok(())
    }
}
