//! Runs that are still there.

use lyceum_core::id::ExecutionId;
use sqlx::PgConnection;
use std::collections::HashSet;
use uuid::Uuid;

use crate::Result;

/// Those of these runs that were not deleted. They stay until the transaction ends.
///
/// Rows of a run are deleted with it, so what an evaluation of several runs measured of a run that is gone by now is left
/// out, as it would have been deleted had it been written earlier.
pub(crate) async fn present(
    tx: &mut PgConnection,
    runs: impl Iterator<Item = ExecutionId>,
) -> Result<HashSet<ExecutionId>> {
    let mut runs: Vec<Uuid> = runs.map(|run| run.0).collect();
    if runs.is_empty() {
        return Ok(HashSet::new());
    }
    runs.sort_unstable();
    runs.dedup();
    let there: Vec<Uuid> = sqlx::query_scalar("SELECT id FROM runs WHERE id = ANY($1) ORDER BY id FOR KEY SHARE")
        .bind(runs)
        .fetch_all(tx)
        .await?;
    Ok(there.into_iter().map(ExecutionId).collect())
}
