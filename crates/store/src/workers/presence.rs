//! Registration and heartbeats of workers.

use lyceum_core::{
    id::WorkerId,
    work::{Sampler, Trainer, WorkKind},
};
use sqlx::{PgPool, types::Json};

use crate::Result;

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
        "INSERT INTO workers (id, name, host, device, kinds, base_models, memory_bytes, versions, samplers, trainers, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'idle')",
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
    .execute(db)
    .await?;
    Ok(())
}

/// A state reported by a worker: a [`WorkerState`](super::WorkerState) other than lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
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
