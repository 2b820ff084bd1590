//! Work of all runs and evaluations, as lists show it.

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, WorkId, WorkerId};
use lyceum_core::work::{Device, Kernels, RolloutPayload, RolloutResult, Sampler, Trainer, WorkKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sqlx::types::Json;
use sqlx::{FromRow, PgPool, QueryBuilder};
use strum::{IntoStaticStr, VariantArray};
use utoipa::ToSchema;
use uuid::Uuid;

use super::Claim;
use crate::page::{Page, Window, and, by_seq, keyed_by_seq};
use crate::text::json_text;
use crate::{Result, StoreError};

/// An item, as shown in lists.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct WorkItem {
    /// The item: a hash of its run and key.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its run or evaluation.
    pub execution_id: Uuid,
    /// The step.
    pub step: i32,
    /// The phase of the step.
    pub phase: String,
    /// The round of the phase.
    pub round: i32,
    /// The chunk of the round.
    pub chunk: i32,
    /// `rollout`, `verify`, `update`, `evolve` or `benchmark`.
    #[schema(value_type = String, example = "verify")]
    pub kind: WorkKind,
    /// The base model a worker must be able to load.
    pub base_model: Option<String>,
    /// Peak device memory, in bytes.
    pub memory_bytes: i64,
    /// What it is computed on: `cpu` or `cuda`; anything if null.
    #[schema(value_type = Option<String>)]
    pub device: Option<Device>,
    /// The instruction set that its processor must have, such as `avx512`; any if null.
    #[schema(value_type = Option<String>)]
    pub kernels: Option<Kernels>,
    /// What generates its tokens: `engine` or `served`; the engine for items without any.
    #[schema(value_type = String, example = "engine")]
    pub sampler: Sampler,
    /// What takes its optimizer steps: `engine` or `torchrun`; the engine for items that are no updates.
    #[schema(value_type = String, example = "engine")]
    pub trainer: Trainer,
    /// `ready`, `running`, `done`, `failed` or `cancelled`.
    #[schema(value_type = String, example = "ready")]
    pub state: WorkState,
    /// Tries so far.
    pub attempts: i32,
    /// Maximum number of tries.
    pub max_attempts: i32,
    /// The worker that has it, or had it last.
    pub worker_id: Option<Uuid>,
    /// That worker's name.
    pub worker: Option<String>,
    /// From 0 to 1, if known.
    pub progress: Option<f32>,
    /// The current activity.
    pub progress_note: Option<String>,
    /// Time of the last progress.
    pub progress_at: Option<DateTime<Utc>>,
    /// Time of the last progress, if the item is running and that was more than a minute ago.
    pub stalled_since: Option<DateTime<Utc>>,
    /// Earliest time of the next try.
    pub run_at: DateTime<Utc>,
    /// Errors, one per failed try: `attempt`, `at`, `worker`, `kind` (`error`, `panic`, `lost`, `payload`), `message`.
    #[schema(value_type = Vec<Object>)]
    pub errors: serde_json::Value,
    /// When it was planned.
    pub created_at: DateTime<Utc>,
    /// When its last try started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// An item, in full.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct WorkDetail {
    /// The fields shown in lists.
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub item: WorkItem,
    /// The payload.
    // Kept as text: parsing may round numbers.
    #[schema(value_type = Object)]
    pub payload: Json<Box<RawValue>>,
    /// The result.
    #[schema(value_type = Option<Object>)]
    pub result: Option<serde_json::Value>,
}

/// Selects items.
#[derive(Clone, Debug, Default)]
pub struct WorkFilter {
    /// Of this run or evaluation.
    pub execution: Option<ExecutionId>,
    pub step: Option<u32>,
    pub state: Option<WorkState>,
    pub kind: Option<WorkKind>,
    /// Held by this worker, now or last.
    pub worker: Option<WorkerId>,
}

keyed_by_seq!(WorkItem);

const COLUMNS: &str = "w.id, w.seq, w.execution_id, w.step, w.phase, w.round, w.chunk, w.kind, w.base_model,
    w.memory_bytes, w.device, w.kernels, w.sampler, w.trainer, w.state, w.attempts, w.max_attempts, w.worker_id, k.name AS worker, w.progress, w.progress_note,
    w.progress_at, CASE WHEN w.state = 'running' AND w.progress_at < now() - interval '1 minute' THEN w.progress_at END
    AS stalled_since, w.run_at, w.errors, w.created_at, w.started_at, w.finished_at";

/// Items that fit `filter`.
pub async fn page(db: &PgPool, filter: &WorkFilter, window: &Window) -> Result<Page<WorkItem>> {
    let mut query =
        QueryBuilder::new(format!("SELECT {COLUMNS} FROM work w LEFT JOIN workers k ON k.id = w.worker_id WHERE true"));
    and(&mut query, "w.execution_id = ", filter.execution.map(|id| id.0));
    and(&mut query, "w.step = ", filter.step.map(u32::cast_signed));
    and(&mut query, "w.state = ", filter.state);
    and(&mut query, "w.kind = ", filter.kind);
    and(&mut query, "w.worker_id = ", filter.worker.map(|id| id.0));
    by_seq(db, query, "w.seq", window).await
}

/// One item.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, id: WorkId) -> Result<WorkDetail> {
    let mut query = QueryBuilder::new(format!(
        "SELECT {COLUMNS}, w.payload, w.result FROM work w LEFT JOIN workers k ON k.id = w.worker_id WHERE w.id = "
    ));
    query.push_bind(id.0);
    let item = query.build_query_as().fetch_optional(db).await?;
    item.ok_or_else(|| StoreError::not_found("work", id))
}

/// Unfinished and failed work of one kind.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Backlog {
    pub kind: WorkKind,
    /// Items waiting for a worker.
    pub ready: i64,
    /// Ready items whose next try is not due yet.
    pub delayed: i64,
    /// Items held by a worker.
    pub running: i64,
    /// Running items without progress for a minute.
    pub stalled: i64,
    /// Items without tries left.
    pub failed: i64,
}

/// The backlog of every kind, without empty ones.
pub async fn backlog(db: &PgPool) -> Result<Vec<Backlog>> {
    Ok(sqlx::query_as(
        "SELECT kind, count(*) FILTER (WHERE state = 'ready') AS ready,
             count(*) FILTER (WHERE state = 'ready' AND run_at > now()) AS delayed,
             count(*) FILTER (WHERE state = 'running') AS running,
             count(*) FILTER (WHERE state = 'running' AND progress_at < now() - interval '1 minute') AS stalled,
             count(*) FILTER (WHERE state = 'failed') AS failed
         FROM work WHERE state IN ('ready', 'running', 'failed') GROUP BY kind ORDER BY kind",
    )
    .fetch_all(db)
    .await?)
}

/// A rollout with its result.
#[derive(Clone, Debug)]
pub struct Rollout {
    /// The item.
    pub id: WorkId,
    pub payload: RolloutPayload,
    pub result: RolloutResult,
}

#[derive(FromRow)]
struct Row {
    payload: Json<Tagged<RolloutPayload>>,
    result: Json<Tagged<RolloutResult>>,
}

/// The JSON of a payload or a result, by kind of work.
#[derive(Deserialize)]
struct Tagged<T> {
    rollout: T,
}

/// The ids of the finished rollouts of a step of a run, then those of evaluations that recorded attempts of the run.
pub async fn rollouts_of_step(db: &PgPool, run: ExecutionId, step: u32) -> Result<Vec<WorkId>> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "SELECT w.id FROM work w WHERE w.kind = 'rollout' AND w.state = 'done' AND (
             (w.execution_id = $1 AND w.step = $2)
             OR w.execution_id IN (SELECT id FROM evaluations WHERE run_id = $1 AND spec ->> 'type' = 'cross_play'))
         ORDER BY w.execution_id <> $1, w.seq",
    )
    .bind(run.0)
    .bind(step.cast_signed())
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(WorkId).collect())
}

/// A finished rollout; `None` if there is no such.
pub async fn rollout(db: &PgPool, id: WorkId) -> Result<Option<Rollout>> {
    let row: Option<Row> =
        sqlx::query_as("SELECT payload, result FROM work WHERE id = $1 AND kind = 'rollout' AND state = 'done'")
            .bind(id.0)
            .fetch_optional(db)
            .await?;
    Ok(row.map(|row| Rollout { id, payload: row.payload.0.rollout, result: row.result.0.rollout }))
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogLine {
    /// When it was written.
    pub at: DateTime<Utc>,
    /// `error`, `warn`, `info`, `debug`, `trace`, or `progress`.
    pub level: String,
    /// The line.
    pub text: String,
}

#[derive(Clone, Debug, Serialize, FromRow)]
pub struct TryLog {
    /// The number of the try, from 1, counting on through new sets of tries and tries that were handed back.
    pub attempt: i32,
    pub worker: Option<String>,
    /// Its lines, the oldest first.
    #[serde(serialize_with = "bare")]
    pub lines: Json<Vec<LogLine>>,
}

fn bare<S: serde::Serializer>(lines: &Json<Vec<LogLine>>, serializer: S) -> Result<S::Ok, S::Error> {
    lines.0.serialize(serializer)
}

/// Keeps the log of a try. It needs no claim: it says what happened, whoever holds the item by now.
///
/// Tries are told apart by their fences, which are never given twice: their numbers begin anew when an item gets another set
/// of tries, and are given again after a try that was handed back.
pub async fn keep_log(db: &PgPool, claim: &Claim, worker: lyceum_core::id::WorkerId, lines: &[LogLine]) -> Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO work_logs (work_id, attempt, worker_id, lines) VALUES ($1, $2, $3, $4::text::json)
         ON CONFLICT (work_id, attempt) DO NOTHING",
    )
    .bind(claim.id.0)
    .bind(i32::try_from(claim.fence).unwrap_or(i32::MAX))
    .bind(worker.0)
    .bind(json_text("lines", &lines)?)
    .execute(db)
    .await?;
    Ok(())
}

/// The logs of an item's tries, the first one first.
pub async fn logs(db: &PgPool, item: WorkId) -> Result<Vec<TryLog>> {
    Ok(sqlx::query_as(
        "SELECT l.attempt, w.name AS worker, l.lines FROM work_logs l LEFT JOIN workers w ON w.id = l.worker_id
         WHERE l.work_id = $1 ORDER BY l.attempt",
    )
    .bind(item.0)
    .fetch_all(db)
    .await?)
}

/// States of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum WorkState {
    /// It waits for a worker.
    Ready,
    /// A worker holds it.
    Running,
    /// It has a result.
    Done,
    /// It has no tries left.
    Failed,
    /// Its run was cancelled.
    Cancelled,
}

lyceum_core::named!(WorkState, "a state of an item");
