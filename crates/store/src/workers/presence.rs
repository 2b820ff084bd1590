//! How workers make themselves known.

use lyceum_core::{id::WorkerId, work::WorkKind};
use sqlx::{PgPool, types::Json};

use crate::Result;

/// How a worker introduces itself.
#[derive(Clone, Debug)]
pub struct NewWorker<'a> {
    /// New with every start, so that nobody is mistaken for a predecessor.
    pub id: WorkerId,
    /// What people call it.
    pub name: &'a str,
    /// The machine.
    pub host: &'a str,
    /// `cpu`, or the GPU's name.
    pub device: &'a str,
    /// What it serves.
    pub kinds: &'a [WorkKind],
    /// The base models that it can load.
    pub base_models: &'a [String],
    /// Memory of its device, in bytes.
    pub memory_bytes: u64,
    /// Release, libtorch, Python and the like.
    pub versions: serde_json::Value,
}

/// Writes a worker down.
pub async fn register(db: &PgPool, worker: &NewWorker<'_>) -> Result<()> {
    sqlx::query(
        "INSERT INTO workers (id, name, host, device, kinds, base_models, memory_bytes, versions, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'idle')",
    )
    .bind(worker.id.0)
    .bind(worker.name)
    .bind(worker.host)
    .bind(worker.device)
    .bind(worker.kinds)
    .bind(worker.base_models)
    .bind(i64::try_from(worker.memory_bytes).unwrap_or(i64::MAX))
    .bind(Json(&worker.versions))
    .execute(db)
    .await?;
    Ok(())
}

/// What a worker says that it is doing: a [`WorkerState`](super::WorkerState) other than lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Doing {
    /// Nothing.
    Idle,
    /// Work.
    Busy,
    /// Finishing, and taking nothing new.
    Draining,
    /// It has left.
    Stopped,
}

/// Notes that a worker is there, what it does and which base models it has loaded. One that has left stays so, though an
/// earlier word of it may arrive late.
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
