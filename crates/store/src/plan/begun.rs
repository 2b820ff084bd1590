//! Records of plannings that have begun, which outlive a process that planning ended.

use lyceum_core::id::ExecutionId;
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::Result;

/// Records that the process `coordinator` begins to plan an execution, and returns how many plannings in a row before
/// this one ended with their process. `None` if the execution is not due. The process must have [reserved](super::reserve()) it.
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
    sqlx::query("DELETE FROM plannings WHERE execution_id = $1")
        .bind(id.0)
        .execute(tx)
        .await?;
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
