//! Workers: processes that take work.

use chrono::{DateTime, Utc};
use lyceum_core::id::WorkerId;
use lyceum_core::work::{Kernels, Sampler, Trainer, WorkKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use sqlx::{FromRow, PgPool, QueryBuilder};
use strum::{IntoStaticStr, VariantArray};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Page, Window, and, by_seq, keyed_by_seq};
use crate::{Result, StoreError};

/// A worker.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Worker {
    /// The worker; a new id with every start.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its name.
    pub name: String,
    /// The machine.
    pub host: String,
    /// `cpu`, or the GPU's name.
    pub device: String,
    /// The instruction set of its processor, such as `avx512`; null on a GPU, where it has no name, and for one of an earlier release.
    #[schema(value_type = Option<String>)]
    pub kernels: Option<Kernels>,
    /// The kinds of work it takes.
    #[schema(value_type = Vec<String>)]
    pub kinds: Vec<WorkKind>,
    /// What may generate tokens there: `engine`, `served`; none if it takes no such work.
    #[schema(value_type = Vec<String>)]
    pub samplers: Vec<Sampler>,
    /// What may take the optimizer steps of updates there: `engine`, `torchrun`; none if it takes no updates.
    #[schema(value_type = Vec<String>)]
    pub trainers: Vec<Trainer>,
    /// The base models it can load; empty means any.
    pub base_models: Vec<String>,
    /// The base models it has loaded.
    pub loaded_models: Vec<String>,
    /// Memory that an item may take of its device, in bytes.
    pub memory_bytes: i64,
    /// Versions of Lyceum, libtorch, Python and so on.
    #[schema(value_type = Object)]
    pub versions: serde_json::Value,
    /// `idle`, `busy`, `draining`, `stopped` or `lost`.
    #[schema(value_type = String, example = "idle")]
    pub state: WorkerState,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// When it was last seen.
    pub last_seen: DateTime<Utc>,
    /// When it left or was marked as lost.
    pub stopped_at: Option<DateTime<Utc>>,
}

/// Selects workers.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct WorkerFilter {
    /// In this state.
    pub state: Option<WorkerState>,
    /// `true` for present workers, `false` for those that have left.
    pub alive: Option<bool>,
}

keyed_by_seq!(Worker);

const SELECT: &str =
    "SELECT id, seq, name, host, device, kernels, kinds, samplers, trainers, base_models, loaded_models, memory_bytes, versions,
    state, started_at, last_seen, stopped_at FROM workers WHERE ";

/// Workers that fit `filter`.
pub async fn page(db: &PgPool, filter: &WorkerFilter, window: &Window) -> Result<Page<Worker>> {
    let mut query = QueryBuilder::new(format!("{SELECT} true"));
    and(&mut query, "state = ", filter.state);
    and(&mut query, "(stopped_at IS NULL) = ", filter.alive);
    by_seq(db, query, "seq", window).await
}

/// One worker.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, id: WorkerId) -> Result<Worker> {
    let mut query = QueryBuilder::new(format!("{SELECT} id = "));
    query.push_bind(id.0);
    let worker = query.build_query_as().fetch_optional(db).await?;
    worker.ok_or_else(|| StoreError::not_found("worker", id))
}

/// A worker's registration.
#[derive(Clone, Debug)]
pub struct NewWorker<'a> {
    /// New with every start, so it is not mistaken for its predecessor.
    pub id: WorkerId,
    pub name: &'a str,
    /// The machine.
    pub host: &'a str,
    /// `cpu`, or the GPU's name.
    pub device: &'a str,
    /// The instruction set of its processor.
    pub kernels: Option<Kernels>,
    /// The kinds of work it takes.
    pub kinds: &'a [WorkKind],
    /// What may generate tokens there.
    pub samplers: &'a [Sampler],
    /// What may take the optimizer steps of updates there.
    pub trainers: &'a [Trainer],
    /// The base models it can load.
    pub base_models: &'a [String],
    /// Memory of its device, in bytes.
    pub memory_bytes: u64,
    /// Versions of Lyceum, libtorch, Python and so on.
    pub versions: serde_json::Value,
}

pub async fn register(db: &PgPool, worker: &NewWorker<'_>) -> Result<()> {
    sqlx::query(
        "INSERT INTO workers (id, name, host, device, kinds, base_models, memory_bytes, versions, samplers, trainers, kernels, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'idle')",
    )
    .bind(worker.id.0)
    .bind(worker.name)
    .bind(worker.host)
    .bind(worker.device)
    .bind(worker.kinds)
    .bind(worker.base_models)
    .bind(i64::try_from(worker.memory_bytes).unwrap_or(i64::MAX))
    .bind(Json(&worker.versions))
    .bind(worker.samplers)
    .bind(worker.trainers)
    .bind(worker.kernels)
    .execute(db)
    .await?;
    Ok(())
}

/// A state reported by a worker: a [`WorkerState`] other than lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Doing {
    /// Waiting for work.
    Idle,
    /// Working.
    Busy,
    /// Finishing, without taking new work.
    Draining,
    /// It has left.
    Stopped,
}

/// Records a heartbeat with a worker's state and loaded base models. A worker that has left stays so, even if an
/// earlier heartbeat arrives late.
pub async fn seen(db: &PgPool, id: WorkerId, doing: Doing, loaded_models: &[String]) -> Result<()> {
    sqlx::query(
        "UPDATE workers SET last_seen = now(), state = $2, loaded_models = $3,
             stopped_at = CASE WHEN $2 = 'stopped' THEN now() END WHERE id = $1 AND state <> 'stopped'",
    )
    .bind(id.0)
    .bind(<&str>::from(doing))
    .bind(loaded_models)
    .execute(db)
    .await?;
    Ok(())
}

/// States of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum WorkerState {
    /// Waiting for work.
    Idle,
    /// Working.
    Busy,
    /// Finishing, without taking new work.
    Draining,
    /// It has left.
    Stopped,
    /// It disappeared.
    Lost,
}

lyceum_core::named!(WorkerState, "a state of a worker");

/// A worker's throughput over the last ten minutes.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Throughput {
    pub worker_id: Uuid,
    /// Items it ended, at most 1000.
    pub items: i64,
    /// Time it spent on them, in seconds, summed over its slots.
    pub seconds: f64,
}

/// The throughput of each of `workers` over the last ten minutes.
pub async fn throughput(db: &PgPool, workers: &[Uuid]) -> Result<Vec<Throughput>> {
    Ok(sqlx::query_as(
        "SELECT asked.id AS worker_id, count(*) AS items,
             coalesce(sum(extract(epoch FROM last.finished_at - last.started_at)), 0)::double precision AS seconds
         FROM unnest($1::uuid[]) AS asked (id) JOIN LATERAL (
             SELECT started_at, finished_at FROM work WHERE worker_id = asked.id ORDER BY seq DESC LIMIT 1000
         ) last ON last.finished_at > now() - interval '10 minutes' GROUP BY asked.id",
    )
    .bind(workers)
    .fetch_all(db)
    .await?)
}

/// What a worker takes of its machine at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Processor cores in use since the last report, by the worker and the processes that it started.
    pub cores: f64,
    pub memory_bytes: u64,
    /// The share of time in which its GPU computed, whoever for; none without a GPU.
    pub gpu_share: Option<f64>,
    /// Memory in use on its GPU, by whoever; none without a GPU.
    pub gpu_memory_bytes: Option<u64>,
}

/// A minute of a worker.
#[derive(Clone, Debug, PartialEq, FromRow, Serialize)]
pub struct UsageMinute {
    pub worker_id: Uuid,
    /// When the minute began.
    pub minute: DateTime<Utc>,
    /// Mean processor cores in use.
    pub cores: f32,
    /// The most memory of it and its processes, in bytes.
    pub memory_bytes: i64,
    /// The mean share of time in which its GPU computed.
    pub gpu_share: Option<f32>,
    /// The most memory in use on its GPU, in bytes.
    pub gpu_memory_bytes: Option<i64>,
}

/// Adds a report to the current minute of a worker.
pub async fn report(db: &PgPool, worker: WorkerId, usage: &Usage) -> Result<()> {
    let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    sqlx::query(
        "INSERT INTO worker_usage AS u (worker_id, minute, reports, cores, memory_bytes, gpu_share, gpu_memory_bytes)
         VALUES ($1, date_trunc('minute', now()), 1, $2, $3, $4, $5)
         ON CONFLICT (worker_id, minute) DO UPDATE SET reports = u.reports + 1,
             cores = (u.cores * u.reports + excluded.cores) / (u.reports + 1),
             memory_bytes = greatest(u.memory_bytes, excluded.memory_bytes),
             gpu_share = coalesce((u.gpu_share * u.reports + excluded.gpu_share) / (u.reports + 1), excluded.gpu_share, u.gpu_share),
             gpu_memory_bytes = greatest(u.gpu_memory_bytes, excluded.gpu_memory_bytes)",
    )
    .bind(worker.0)
    .bind(usage.cores.max(0.0) as f32)
    .bind(bytes(usage.memory_bytes))
    .bind(usage.gpu_share.map(|share| share.clamp(0.0, 1.0) as f32))
    .bind(usage.gpu_memory_bytes.map(bytes))
    .execute(db)
    .await?;
    Ok(())
}

const COLUMNS: &str = "worker_id, minute, cores, memory_bytes, gpu_share, gpu_memory_bytes";

/// The minutes of a worker's last `hours`, the oldest first.
pub async fn usage(db: &PgPool, worker: WorkerId, hours: u32) -> Result<Vec<UsageMinute>> {
    let query = format!(
        "SELECT {COLUMNS} FROM worker_usage
         WHERE worker_id = $1 AND minute > now() - make_interval(hours => $2) ORDER BY minute"
    );
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(worker.0).bind(hours.cast_signed()).fetch_all(db).await?)
}

/// The newest minute of each of `workers` that reported within the last five minutes.
pub async fn newest_usage(db: &PgPool, workers: &[Uuid]) -> Result<Vec<UsageMinute>> {
    let query = format!(
        "SELECT DISTINCT ON (worker_id) {COLUMNS} FROM worker_usage
         WHERE worker_id = ANY($1) AND minute > now() - interval '5 minutes' ORDER BY worker_id, minute DESC"
    );
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(workers).fetch_all(db).await?)
}

/// Removes minutes older than a week.
pub async fn tidy_usage(db: &PgPool) -> Result<()> {
    sqlx::query("DELETE FROM worker_usage WHERE minute < now() - interval '7 days'").execute(db).await?;
    Ok(())
}
