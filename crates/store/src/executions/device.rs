//! What an execution computes on.

use lyceum_core::id::ExecutionId;
use sqlx::PgPool;

use crate::Result;

/// Whether the newest item of an execution that generated or learned was started on a GPU.
pub async fn is_on_gpu(db: &PgPool, execution: ExecutionId) -> Result<bool> {
    Ok(sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM (VALUES ('rollout'), ('update')) AS kinds (kind), LATERAL (
             SELECT worker_id FROM work
             WHERE execution_id = $1 AND work.kind = kinds.kind AND started_at IS NOT NULL
             ORDER BY started_at DESC LIMIT 1
         ) newest JOIN workers k ON k.id = newest.worker_id WHERE k.device <> 'cpu')",
    )
    .bind(execution.0)
    .fetch_one(db)
    .await?)
}
