//! Tickets: leave to look for one item.

use apalis::prelude::TaskBuilder;
use apalis_postgres::{PgTask, queries::push_tasks};
use lyceum_core::work::WorkKind;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{Lane, apalis_tables};
use crate::{Result, StoreError};

/// Tickets issued at once when many are missing; the next look issues more.
const TOP_UP: i64 = 1000;

/// Leave to look for one item of a lane. It says nothing about which.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ticket {}

impl Ticket {
    /// A job that is tried once, since [`top_up`] makes good what a failed look leaves behind. It is due since 1970: apalis
    /// would stamp it with this machine's clock, and the database compares with its own.
    fn task(self) -> Result<PgTask> {
        let args = serde_json::to_vec(&self).map_err(StoreError::json("ticket"))?;
        Ok(TaskBuilder::new(args).max_attempts(1).run_at_timestamp(0).build())
    }
}

/// Issues `count` tickets. Inside a transaction they come to be with it.
pub async fn issue(db: &mut PgConnection, lane: Lane, count: u32) -> Result<()> {
    if count > 0 {
        let tasks = (0..count).map(|_| Ticket {}.task()).collect::<Result<_>>()?;
        push_tasks(db, lane.queue(), tasks).await?;
    }
    Ok(())
}

/// Issues tickets where fewer are out than items wait: for items that have become due after a failure, and in place of tickets
/// that died with a worker or that a worker could not use. Returns how many were missing.
pub async fn top_up(db: &mut PgConnection, lane: Lane) -> Result<u32> {
    let kinds: Vec<WorkKind> = lane.kinds().collect();
    let waiting: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM work w JOIN executions e ON e.id = w.execution_id
         WHERE w.state = 'ready' AND w.kind = ANY($1) AND w.run_at <= now() AND e.state = 'running'",
    )
    .bind(kinds)
    .fetch_one(&mut *db)
    .await?;
    if waiting == 0 {
        return Ok(0);
    }
    let out = apalis_tables::out(db, lane).await?;
    let missing = u32::try_from((waiting - out).clamp(0, TOP_UP)).unwrap_or(0);
    issue(db, lane, missing).await?;
    Ok(missing)
}
