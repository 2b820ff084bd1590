//! A run's row.

use chrono::{DateTime, Utc};
use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgExecutor, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::executions::State;
use crate::page::keyed_by_seq;
use crate::seed::Seed;
use crate::{Result, StoreError};

/// A run, as shown in lists.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Run {
    /// The run.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its name.
    pub name: String,
    /// Its experiment.
    pub experiment_id: Option<Uuid>,
    /// The experiment's name.
    pub experiment: Option<String>,
    /// The algorithm.
    pub recipe: String,
    /// `running`, `paused`, `completed`, `failed` or `cancelled`.
    #[schema(value_type = String, example = "running")]
    pub state: State,
    /// Why it failed.
    pub error: Option<String>,
    /// The current step, from 0.
    pub step: i32,
    /// Number of steps.
    pub steps: i32,
    /// The recipe's name for this part of the run; empty without stages.
    pub stage: String,
    /// Seed of all randomness.
    #[sqlx(try_from = "String")]
    #[schema(value_type = u64)]
    pub seed: Seed,
    /// Hash of the config without its seed: runs of one arm differ only by seed.
    pub arm: String,
    /// The preset of its config.
    pub preset: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// The first 280 characters of the note.
    pub note_excerpt: String,
    /// Items of runs with a higher priority go first.
    pub priority: i16,
    /// Maximum number of items in progress at once.
    pub max_concurrent: Option<i32>,
    /// Whether the same config and seed would reproduce the run bit for bit.
    pub reproducible: bool,
    /// The run it was forked from.
    pub forked_from: Option<Uuid>,
    /// The step at which it was forked.
    pub forked_at_step: Option<i32>,
    /// Problems proposed so far.
    pub problems: i64,
    /// Valid problems so far.
    pub valid_problems: i64,
    /// Attempts so far.
    pub attempts: i64,
    /// Matchups so far.
    pub matchups: i64,
    /// Occupied cells of the archive.
    pub cells: i64,
    /// Number of its last event.
    pub last_event: i64,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// A run, in full.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct RunDetail {
    /// The fields shown in lists.
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub run: Run,
    /// A note.
    pub note: String,
    /// The resolved config, with all defaults.
    #[schema(value_type = Object)]
    pub config: serde_json::Value,
    /// Names of its metrics, in the order of their values.
    pub metrics: Vec<String>,
    /// Links the request that created it to its work (W3C trace id).
    pub trace_id: Option<String>,
}

keyed_by_seq!(Run);

pub(super) const COLUMNS: &str =
    "e.id, e.seq, r.name, r.experiment_id, x.name AS experiment, e.recipe, e.state, e.error, e.step,
    e.steps, e.stage, r.seed::text AS seed, r.arm, r.preset, r.tags,
    left(r.note, 280) AS note_excerpt, e.priority, e.max_concurrent, e.reproducible,
    r.forked_from, r.forked_at_step, r.problems, r.valid_problems, r.attempts, r.matchups, r.cells, e.last_event,
    e.created_at, e.updated_at, e.finished_at";

pub(super) const FROM: &str =
    "FROM executions e JOIN runs r ON r.id = e.id LEFT JOIN experiments x ON x.id = r.experiment_id";

/// One run.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: impl PgExecutor<'_>, id: ExecutionId) -> Result<RunDetail> {
    let mut query = QueryBuilder::new(format!(
        "SELECT {COLUMNS}, r.note, e.config, e.metrics, e.trace_id {FROM} WHERE e.kind = 'run' AND e.id = "
    ));
    query.push_bind(id.0);
    let run = query.build_query_as().fetch_optional(db).await?;
    run.ok_or_else(|| StoreError::not_found("run", id))
}

/// The run with this id, or the first `limit` of this name.
pub async fn called(db: impl PgExecutor<'_>, text: &str, limit: i64) -> Result<Vec<Uuid>> {
    let query = match text.parse::<Uuid>() {
        Ok(id) => sqlx::query_scalar("SELECT id FROM runs WHERE id = $1 LIMIT $2").bind(id),
        Err(_) => sqlx::query_scalar("SELECT id FROM runs WHERE name = $1 ORDER BY id LIMIT $2").bind(text),
    };
    Ok(query.bind(limit).fetch_all(db).await?)
}

/// The names of the runs with these ids, without missing ones.
pub async fn names(db: &PgPool, ids: &[Uuid]) -> Result<Vec<(Uuid, String)>> {
    Ok(sqlx::query_as("SELECT id, name FROM runs WHERE id = ANY($1)").bind(ids).fetch_all(db).await?)
}
