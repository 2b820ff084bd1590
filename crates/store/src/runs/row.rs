//! A run's row.

use chrono::{DateTime, Utc};
use lyceum_core::id::ExecutionId;
use serde::Serialize;
use sqlx::{FromRow, PgExecutor, PgPool, QueryBuilder};
use uuid::Uuid;

use crate::{Result, StoreError, executions::State, page::keyed_by_seq, seed::Seed};

/// A run as a list shows it.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Run {
    /// The run.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// What people call it.
    pub name: String,
    /// The experiment that it belongs to.
    pub experiment_id: Option<Uuid>,
    /// That experiment's name.
    pub experiment: Option<String>,
    /// The algorithm.
    pub recipe: String,
    /// `running`, `paused`, `completed`, `failed` or `cancelled`.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "running"))]
    pub state: State,
    /// Why it failed.
    pub error: Option<String>,
    /// The step that it is at, from 0.
    pub step: i32,
    /// Steps in all.
    pub steps: i32,
    /// What the recipe calls this part of the run; empty for a recipe without stages.
    pub stage: String,
    /// Seed of everything random.
    #[sqlx(try_from = "String")]
    #[cfg_attr(feature = "schema", schema(value_type = u64))]
    pub seed: Seed,
    /// Hash of the config without its seed: the runs of one arm differ by seed alone.
    pub arm: String,
    /// The preset that its config came from.
    pub preset: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// The first 280 letters of what people noted.
    pub note_excerpt: String,
    /// Items of a run with a higher priority go first.
    pub priority: i16,
    /// Items that are worked on at once, at most.
    pub max_concurrent: Option<i32>,
    /// Whether the same config and seed would give the same run, bit for bit.
    pub reproducible: bool,
    /// The run that it branched off from.
    pub forked_from: Option<Uuid>,
    /// At which step it did.
    pub forked_at_step: Option<i32>,
    /// Problems proposed so far.
    pub problems: i64,
    /// Those of them that are valid.
    pub valid_problems: i64,
    /// Attempts so far.
    pub attempts: i64,
    /// Matchups so far.
    pub matchups: i64,
    /// Cells of the archive that are taken.
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

/// A run in full.
#[derive(Clone, Debug, FromRow, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunDetail {
    /// What a list shows of it.
    #[sqlx(flatten)]
    #[serde(flatten)]
    pub run: Run,
    /// Anything that people noted.
    pub note: String,
    /// The resolved config, every default written out.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    pub config: serde_json::Value,
    /// Names of its metrics, in the order of their values.
    pub metrics: Vec<String>,
    /// Follows the request that created it into its work (W3C trace id).
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

/// The names of the runs `ids`, those that there are.
pub async fn names(db: &PgPool, ids: &[Uuid]) -> Result<Vec<(Uuid, String)>> {
    Ok(sqlx::query_as("SELECT id, name FROM runs WHERE id = ANY($1)")
        .bind(ids)
        .fetch_all(db)
        .await?)
}
