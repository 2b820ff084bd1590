//! What the dead leave behind.

use lyceum_core::id::WorkId;
use sqlx::PgPool;
use uuid::Uuid;

use super::{Failure, FailureKind, fail::fail_in};
use crate::{
    Result, StoreError,
    queue::{self, Lane},
};

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Items whose lease had run out.
    pub lost: u32,
    /// Tickets that were missing.
    pub tickets: u32,
    /// Workers that had gone without a word.
    pub workers: u32,
}

/// Puts items back whose lease ran out, makes good lost tickets, and writes off workers not seen for a minute. Any number
/// of servers may sweep at once.
pub async fn sweep(db: &PgPool) -> Result<Swept> {
    let mut swept = Swept::default();
    let late: Vec<(Uuid, i64, Option<String>)> = sqlx::query_as(
        "SELECT w.id, w.fence, k.name FROM work w LEFT JOIN workers k ON k.id = w.worker_id
         WHERE w.state = 'running' AND w.lease_until < now() LIMIT 1000",
    )
    .fetch_all(db)
    .await?;
    for (id, fence, worker) in late {
        let worker = worker.unwrap_or_else(|| "its worker".to_owned());
        let message = format!("{worker} stopped renewing its claim");
        let failure = Failure {
            kind: FailureKind::Lost,
            message,
            retry: true,
        };
        let mut tx = db.begin().await?;
        match fail_in(&mut tx, WorkId(id), fence, &failure).await {
            Ok(_) => swept.lost += 1,
            // Renewed or swept by another in the meantime.
            Err(StoreError::FenceLost) => continue,
            Err(error) => return Err(error),
        }
        tx.commit().await?;
    }
    let mut connection = db.acquire().await?;
    for lane in Lane::ALL {
        swept.tickets += queue::top_up(&mut connection, lane).await?;
    }
    let gone = sqlx::query(
        "UPDATE workers SET state = 'lost', stopped_at = now()
         WHERE stopped_at IS NULL AND last_seen < now() - interval '1 minute'",
    )
    .execute(&mut *connection)
    .await?;
    swept.workers = u32::try_from(gone.rows_affected()).unwrap_or(u32::MAX);
    Ok(swept)
}
