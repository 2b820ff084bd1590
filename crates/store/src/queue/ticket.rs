//! Tickets: each lets a slot look for one item.

use apalis::prelude::TaskBuilder;
use apalis_postgres::{PgTask, queries::push_tasks};
use lyceum_core::work::WorkKind;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use super::{Lane, apalis_tables};
use crate::{Result, StoreError};

/// Maximum number of tickets issued at once; the next sweep issues more.
const TOP_UP: i64 = 1000;

/// Lets a slot look for one item of a lane, without saying which.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ticket {}

impl Ticket {
    /// A job that is tried once, since [`top_up`] replaces lost tickets. It has been due since 1970: apalis would use
    /// this machine's clock, but the database compares with its own.
    fn task(self) -> Result<PgTask> {
        let args = serde_json::to_vec(&self).map_err(StoreError::json("ticket"))?;
        Ok(TaskBuilder::new(args).max_attempts(1).run_at_timestamp(0).build())
    }
}

/// Issues `count` tickets. In a transaction they appear when it commits.
pub async fn issue(db: &mut PgConnection, lane: Lane, count: u32) -> Result<()> {
    if count > 0 {
        let tasks = (0..count).map(|_| Ticket {}.task()).collect::<Result<_>>()?;
        push_tasks(db, lane.queue(), tasks).await?;
    }
    Ok(())
}

/// Issues tickets if there are fewer than waiting items: for items that have become due after a failure, and for
/// tickets that were lost with a worker or that a worker could not use. Returns how many were missing.
pub async fn top_up(db: &mut PgConnection, lane: Lane) -> Result<u32> {
    let kinds: Vec<WorkKind> = lane.kinds().collect();
    let waiting: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM work w JOIN executions e ON e.id = w.execution_id
         WHERE w.state = 'ready' AND w.kind = ANY($1) AND w.sampler = $2 AND w.run_at <= now() AND e.state = 'running'",
    )
    .bind(kinds)
    .bind(lane.sampler())
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
