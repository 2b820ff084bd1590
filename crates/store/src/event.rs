//! Events of runs and evaluations, for watchers.

use chrono::{DateTime, Utc};
use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgExecutor, PgPool};
use utoipa::ToSchema;

use crate::listener::{Listener, Notifications};
use crate::{Result, StoreError};

/// The channel that tells coordinators which execution to plan; the payload is its id.
pub(crate) const PLAN_CHANNEL: &str = "lyceum_plan";

/// The channel that tells servers of new events; the payload is the execution's id.
const EVENT_CHANNEL: &str = "lyceum_events";

/// Subscribes to the executions to be planned.
pub fn to_be_planned(listener: &mut Listener) -> Notifications<ExecutionId> {
    listener.subscribe(PLAN_CHANNEL, |payload| payload.parse().ok())
}

/// Subscribes to the executions with new events.
pub fn happened_to(listener: &mut Listener) -> Notifications<ExecutionId> {
    listener.subscribe(EVENT_CHANNEL, |payload| payload.parse().ok())
}

/// An event of an execution.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Event {
    /// Its number within the execution, from 1 without gaps; readers resume after the last one they have seen.
    pub number: i64,
    /// What happened: `created`, `step_started`, `step_finished`, `planned`, `state`, `renamed`, `measuring`,
    /// `not_measured`; for evaluations also `measured`.
    pub kind: String,
    /// Details, depending on the kind.
    #[schema(value_type = Object)]
    pub data: serde_json::Value,
    /// When it happened.
    pub created_at: DateTime<Utc>,
}

/// Appends an event. The execution's row stays locked until the transaction ends, so events become visible in the order
/// of their numbers, and a reader who has seen number n has seen all before it.
pub async fn append(tx: &mut PgConnection, execution: ExecutionId, kind: &str, data: &impl Serialize) -> Result<i64> {
    let data = serde_json::to_value(data).map_err(StoreError::json("event"))?;
    let number: i64 = sqlx::query_scalar(
        "UPDATE executions SET last_event = last_event + 1, updated_at = now() WHERE id = $1 RETURNING last_event",
    )
    .bind(execution.0)
    .fetch_one(&mut *tx)
    .await?;
    sqlx::query("INSERT INTO events (execution_id, number, kind, data) VALUES ($1, $2, $3, $4)")
        .bind(execution.0)
        .bind(number)
        .bind(kind)
        .bind(Json(data))
        .execute(&mut *tx)
        .await?;
    sqlx::query("SELECT pg_notify($1, $2)").bind(EVENT_CHANNEL).bind(execution.to_string()).execute(&mut *tx).await?;
    Ok(number)
}

/// At most `limit` events after number `after`, oldest first.
pub async fn after(db: &PgPool, execution: ExecutionId, after: i64, limit: i64) -> Result<Vec<Event>> {
    Ok(sqlx::query_as(
        "SELECT number, kind, data, created_at FROM events WHERE execution_id = $1 AND number > $2
         ORDER BY number LIMIT $3",
    )
    .bind(execution.0)
    .bind(after)
    .bind(limit)
    .fetch_all(db)
    .await?)
}

/// The number of the last event of each of `executions`.
pub async fn last_numbers(db: &PgPool, executions: &[ExecutionId]) -> Result<Vec<(ExecutionId, i64)>> {
    let ids: Vec<uuid::Uuid> = executions.iter().map(|id| id.0).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<(uuid::Uuid, i64)> =
        sqlx::query_as("SELECT id, last_event FROM executions WHERE id = ANY($1)").bind(ids).fetch_all(db).await?;
    Ok(rows.into_iter().map(|(id, last)| (ExecutionId(id), last)).collect())
}

/// Tells coordinators, when the transaction commits, that there may be something to plan.
pub async fn wake_coordinator(db: impl PgExecutor<'_>, execution: ExecutionId) -> Result<()> {
    sqlx::query("SELECT pg_notify($1, $2)").bind(PLAN_CHANNEL).bind(execution.to_string()).execute(db).await?;
    Ok(())
}
