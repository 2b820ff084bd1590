//! Workers, including those that have left.

use chrono::{DateTime, Utc};
use lyceum_core::{
    id::WorkerId,
    work::{Sampler, Trainer, WorkKind},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgPool, QueryBuilder};
use uuid::Uuid;

use super::WorkerState;
use crate::{
    Result, StoreError,
    page::{Page, Window, and, by_seq, keyed_by_seq},
};

/// A worker.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    /// The kinds of work it takes.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub kinds: Vec<WorkKind>,
    /// What may generate tokens there: `engine`, `served`; none if it takes no such work.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub samplers: Vec<Sampler>,
    /// What may take the optimizer steps of updates there: `engine`, `torchrun`; none if it takes no updates.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub trainers: Vec<Trainer>,
    /// The base models it can load; empty means any.
    pub base_models: Vec<String>,
    /// The base models it has loaded.
    pub loaded_models: Vec<String>,
    /// Memory that an item may take of its device, in bytes.
    pub memory_bytes: i64,
    /// Versions of Lyceum, libtorch, Python and so on.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub versions: serde_json::Value,
    /// `idle`, `busy`, `draining`, `stopped` or `lost`.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "idle"))]
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
    "SELECT id, seq, name, host, device, kinds, samplers, trainers, base_models, loaded_models, memory_bytes, versions,
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
