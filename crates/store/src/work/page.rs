//! Work of all runs and evaluations.

use chrono::{DateTime, Utc};
use lyceum_core::{
    id::{ExecutionId, WorkId, WorkerId},
    work::{Device, Sampler, Trainer, WorkKind},
};
use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::{FromRow, PgPool, QueryBuilder, types::Json};
use uuid::Uuid;

use super::WorkState;
use crate::{
    Result, StoreError,
    page::{Page, Window, and, by_seq, keyed_by_seq},
};

/// An item, as shown in lists.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "verify"))]
    pub kind: WorkKind,
    /// The base model a worker must be able to load.
    pub base_model: Option<String>,
    /// Peak device memory, in bytes.
    pub memory_bytes: i64,
    /// What it is computed on: `cpu` or `cuda`; anything if null.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub device: Option<Device>,
    /// What generates its tokens: `engine` or `served`; the engine for items without any.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "engine"))]
    pub sampler: Sampler,
    /// What takes its optimizer steps: `engine` or `torchrun`; the engine for items that are no updates.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "engine"))]
    pub trainer: Trainer,
    /// `ready`, `running`, `done`, `failed` or `cancelled`.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "ready"))]
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
    #[cfg_attr(feature = "schema", schema(value_type = Vec<Object>))]
    pub errors: serde_json::Value,
    /// When it was planned.
    pub created_at: DateTime<Utc>,
    /// When its last try started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// An item, in full.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WorkDetail {
    /// The fields shown in lists.
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub item: WorkItem,
    /// The payload.
    // Kept as text: parsing may round numbers.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub payload: Json<Box<RawValue>>,
    /// The result.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
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
    w.memory_bytes, w.device, w.sampler, w.trainer, w.state, w.attempts, w.max_attempts, w.worker_id, k.name AS worker, w.progress, w.progress_note,
    w.progress_at, CASE WHEN w.state = 'running' AND w.progress_at < now() - interval '1 minute' THEN w.progress_at END
    AS stalled_since, w.run_at, w.errors, w.created_at, w.started_at, w.finished_at";

/// Items that fit `filter`.
pub async fn page(db: &PgPool, filter: &WorkFilter, window: &Window) -> Result<Page<WorkItem>> {
    let mut query = QueryBuilder::new(format!(
        "SELECT {COLUMNS} FROM work w LEFT JOIN workers k ON k.id = w.worker_id WHERE true"
    ));
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
