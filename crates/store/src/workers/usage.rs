//! What workers take of their machines, by the minute.

use chrono::{DateTime, Utc};
use lyceum_core::id::WorkerId;
use serde::Serialize;
use sqlx::{FromRow, PgPool};
use uuid::Uuid;

use crate::Result;

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
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query))
        .bind(worker.0)
        .bind(hours.cast_signed())
        .fetch_all(db)
        .await?)
}

/// The newest minute of each of `workers` that reported within the last five minutes.
pub async fn newest_usage(db: &PgPool, workers: &[Uuid]) -> Result<Vec<UsageMinute>> {
    let query = format!(
        "SELECT DISTINCT ON (worker_id) {COLUMNS} FROM worker_usage
         WHERE worker_id = ANY($1) AND minute > now() - interval '5 minutes' ORDER BY worker_id, minute DESC"
    );
    Ok(sqlx::query_as(sqlx::AssertSqlSafe(query))
        .bind(workers)
        .fetch_all(db)
        .await?)
}

/// Removes minutes older than a week.
pub async fn tidy_usage(db: &PgPool) -> Result<()> {
    sqlx::query("DELETE FROM worker_usage WHERE minute < now() - interval '7 days'")
        .execute(db)
        .await?;
    Ok(())
}
