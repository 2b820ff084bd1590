//! What is to be alerted of, and was not.

use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use super::AlertKind;
use crate::Result;

/// Something to be alerted of.
#[derive(Clone, Debug, FromRow)]
pub struct Candidate {
    /// What it is.
    pub kind: AlertKind,
    /// The run or worker.
    pub subject: Uuid,
    /// Tells this time from others.
    pub occurrence: String,
    /// The run, if it is one.
    pub run: Option<Uuid>,
    /// The name of the run or worker.
    pub name: String,
    /// Why a run failed.
    pub error: Option<String>,
    /// The step it happened at.
    pub step: Option<i32>,
}

/// Ends of runs and losses of workers within the last hour, and stalls of runs, of which there is no alert. What happened
/// while no server looked is told afterwards; what is older is not.
pub async fn candidates(db: &PgPool) -> Result<Vec<Candidate>> {
    Ok(sqlx::query_as(
        "SELECT found.* FROM (
             SELECT e.state AS kind, e.id AS subject, extract(epoch FROM e.finished_at)::text AS occurrence, e.id AS run,
                 r.name, e.error, e.step
             FROM executions e JOIN runs r ON r.id = e.id
             WHERE e.kind = 'run' AND e.state IN ('failed', 'completed') AND e.finished_at > now() - interval '1 hour'
             UNION ALL
             SELECT 'stalled', id, extract(epoch FROM last)::text, id, name, NULL, step FROM (
                 SELECT e.id, r.name, e.step,
                     greatest(e.updated_at, max(greatest(w.progress_at, w.started_at, w.finished_at))) AS last
                 FROM executions e JOIN runs r ON r.id = e.id
                 LEFT JOIN work w ON w.execution_id = e.id AND w.step = e.step
                 WHERE e.kind = 'run' AND e.state = 'running' AND e.updated_at < now() - interval '1 minute'
                 GROUP BY e.id, r.id
             ) news WHERE last < now() - interval '1 minute'
             UNION ALL
             SELECT 'worker_lost', id, extract(epoch FROM stopped_at)::text, NULL, name, NULL, NULL FROM workers
             WHERE state = 'lost' AND stopped_at > now() - interval '1 hour'
         ) found
         WHERE NOT EXISTS (SELECT FROM alerts a WHERE a.kind = found.kind AND a.subject = found.subject
             AND a.occurrence = found.occurrence)",
    )
    .fetch_all(db)
    .await?)
}
