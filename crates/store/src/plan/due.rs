//! Executions to be planned: which are due, the right to plan one, which one process has at a time, and plannings that have begun.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use lyceum_core::config::RunConfig;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::RunState;
use serde::Serialize;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgAdvisoryLock, PgAdvisoryLockGuard, PgAdvisoryLockKey};
use sqlx::types::Json;
use sqlx::{Either, FromRow, PgConnection, PgExecutor, PgPool, Postgres};
use uuid::Uuid;

use crate::Result;
use crate::text::storable;

/// Running executions whose step has not been planned, or has had items end since its last plan.
pub async fn due(db: &PgPool) -> Result<Vec<ExecutionId>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT e.id FROM executions e JOIN steps s ON s.execution_id = e.id AND s.step = e.step
         WHERE e.state = 'running' AND s.finished_at IS NULL AND s.ended > s.planned",
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(ExecutionId).collect())
}

/// Those of these executions that are running.
pub async fn running(db: &PgPool, ids: &[ExecutionId]) -> Result<HashSet<ExecutionId>> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.0).collect();
    let running: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM executions WHERE id = ANY($1) AND state = 'running'")
        .bind(ids)
        .fetch_all(db)
        .await?;
    Ok(running.into_iter().map(ExecutionId).collect())
}

/// An execution locked for planning.
#[derive(Clone, Debug)]
pub struct Locked {
    /// Its state before the step.
    pub state: RunState,
    /// Number of ended items that the plan will have seen, at least.
    pub ended: i32,
    /// Whether it is a run rather than an evaluation; a run writes all records under its own id.
    pub is_run: bool,
}

/// Locks an execution that is due for planning. `None` if it is not due, or if another coordinator has it, which checks
/// again after planning.
pub async fn lock(tx: &mut PgConnection, id: ExecutionId) -> Result<Option<Locked>> {
    let row: Option<(bool, Json<RunConfig>, Json<RunState>, i32)> = sqlx::query_as(
        "SELECT e.kind = 'run', e.config, r.state, s.ended FROM executions e
         JOIN steps s ON s.execution_id = e.id AND s.step = e.step
         JOIN run_states r ON r.execution_id = e.id AND r.step = e.step
         WHERE e.id = $1 AND e.state = 'running' AND s.finished_at IS NULL AND s.ended > s.planned
         FOR NO KEY UPDATE OF e SKIP LOCKED",
    )
    .bind(id.0)
    .fetch_optional(tx)
    .await?;
    Ok(row.map(|(is_run, config, state, ended)| Locked {
        state: RunState { config: Arc::new(config.0), ..state.0 },
        ended,
        is_run,
    }))
}

/// Records that the process `coordinator` begins to plan an execution, and returns how many plannings in a row before
/// this one ended with their process. `None` if the execution is not due. The process must have [reserved](super::due()) it.
///
/// The commit does not wait for the disk: the record is for a crash of the coordinator, not of Postgres.
pub async fn begin(db: impl PgExecutor<'_>, id: ExecutionId, coordinator: Uuid) -> Result<Option<u32>> {
    let unfinished: Option<i32> = sqlx::query_scalar(
        "WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
         due AS (
             SELECT e.id FROM executions e JOIN steps s ON s.execution_id = e.id AND s.step = e.step
             WHERE e.id = $1 AND e.state = 'running' AND s.finished_at IS NULL AND s.ended > s.planned
             FOR NO KEY UPDATE OF e
         )
         INSERT INTO plannings AS begun (execution_id, coordinator_id) SELECT id, $2 FROM due, quick
         ON CONFLICT (execution_id) DO UPDATE SET
             unfinished = begun.unfinished + (begun.coordinator_id <> excluded.coordinator_id)::integer,
             coordinator_id = excluded.coordinator_id,
             began_at = now()
         RETURNING unfinished",
    )
    .bind(id.0)
    .bind(coordinator)
    .fetch_optional(db)
    .await?;
    Ok(unfinished.map(i32::cast_unsigned))
}

/// Removes the records of an execution in the transaction that locked it and carries out its plan.
pub async fn end(tx: &mut PgConnection, id: ExecutionId) -> Result<()> {
    sqlx::query("DELETE FROM plannings WHERE execution_id = $1").bind(id.0).execute(tx).await?;
    Ok(())
}

/// Removes the record of a planning that `coordinator` has ended without a plan.
pub async fn give_up(db: impl PgExecutor<'_>, id: ExecutionId, coordinator: Uuid) -> Result<()> {
    sqlx::query("DELETE FROM plannings WHERE execution_id = $1 AND coordinator_id = $2")
        .bind(id.0)
        .bind(coordinator)
        .execute(db)
        .await?;
    Ok(())
}

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

/// How often a server says so again.
pub const REFUSED_EVERY: Duration = Duration::from_secs(60);

/// Why a server cannot plan an execution.
#[derive(Clone, Debug, PartialEq, Eq, FromRow, Serialize)]
pub struct Refusal {
    /// The server's release.
    pub release: String,
    /// What it cannot read or does not know.
    pub reason: String,
}

/// Records that a server of `release` cannot plan an execution. It stays as it is, for a server that can.
pub async fn refuse(db: impl PgExecutor<'_>, id: ExecutionId, release: &str, reason: &str) -> Result<()> {
    sqlx::query(
        "INSERT INTO refusals (execution_id, release, reason) VALUES ($1, $2, $3)
         ON CONFLICT (execution_id) DO UPDATE SET release = excluded.release, reason = excluded.reason, at = now()",
    )
    .bind(id.0)
    .bind(release)
    .bind(storable(reason).as_ref())
    .execute(db)
    .await?;
    Ok(())
}

/// Why an execution that is due is not planned: the last refusal, if nobody has planned it since.
pub async fn refusal(db: impl PgExecutor<'_>, id: ExecutionId) -> Result<Option<Refusal>> {
    let refusal = sqlx::query_as(
        "SELECT r.release, r.reason FROM refusals r
         JOIN executions e ON e.id = r.execution_id JOIN steps s ON s.execution_id = e.id AND s.step = e.step
         WHERE e.id = $1 AND e.state = 'running' AND s.finished_at IS NULL AND s.ended > s.planned
           AND r.at > now() - $2 * interval '1 second'",
    )
    .bind(id.0)
    .bind(2.0 * REFUSED_EVERY.as_secs_f64())
    .fetch_optional(db)
    .await?;
    Ok(refusal)
}
