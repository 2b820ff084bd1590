//! Runs.

use chrono::{DateTime, Utc};
use lyceum_core::id::{ExecutionId, ExperimentId};
use serde::Serialize;
use sqlx::{FromRow, PgExecutor, PgPool, QueryBuilder};
use uuid::Uuid;

use super::{
    Key, Page, Seed, Window,
    filter::{and, prefix},
    window::{by_seq, keyed_by_seq, limited, order_by_value},
};
use crate::{Result, StoreError, execution::State};

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
    #[cfg_attr(feature = "schema", schema(example = "running"))]
    pub state: String,
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

/// Which runs.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// In this state.
    pub state: Option<State>,
    /// Of this recipe.
    pub recipe: Option<String>,
    /// Of this experiment.
    pub experiment: Option<ExperimentId>,
    /// Of this arm.
    pub arm: Option<String>,
    /// With this tag.
    pub tag: Option<String>,
    /// Whose name begins so, in any case.
    pub name: Option<String>,
}

keyed_by_seq!(Run);

const COLUMNS: &str = "e.id, e.seq, r.name, r.experiment_id, x.name AS experiment, e.recipe, e.state, e.error, e.step,
    e.steps, e.stage, r.seed::text AS seed, r.arm, r.preset, r.tags,
    left(r.note, 280) AS note_excerpt, e.priority, e.max_concurrent, e.reproducible,
    r.forked_from, r.forked_at_step, r.problems, r.valid_problems, r.attempts, r.matchups, r.cells, e.last_event,
    e.created_at, e.updated_at, e.finished_at";

const FROM: &str = "FROM executions e JOIN runs r ON r.id = e.id LEFT JOIN experiments x ON x.id = r.experiment_id";

/// By what a list of runs is sorted. What is not age is the greatest first where the window says newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunSort {
    /// By age.
    #[default]
    Age,
    /// By the step that they are at.
    Step,
    /// By how many valid problems they have.
    ValidProblems,
    /// By how many cells of the archive are taken.
    Cells,
}

/// What a run has in the column that a list is sorted by.
type ValueOf = fn(&Run) -> f32;

impl RunSort {
    /// The column, and what a run has in it. Counts are compared as they stand in cursors.
    fn value(self) -> Option<(&'static str, ValueOf)> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "Postgres rounds the same counts to the same type"
        )]
        match self {
            Self::Age => None,
            Self::Step => Some(("e.step::real", |run| run.step as f32)),
            Self::ValidProblems => Some(("r.valid_problems::real", |run| run.valid_problems as f32)),
            Self::Cells => Some(("r.cells::real", |run| run.cells as f32)),
        }
    }
}

/// Runs that fit `filter`, by age.
pub async fn runs(db: &PgPool, filter: &RunFilter, window: &Window) -> Result<Page<Run>> {
    runs_by(db, filter, RunSort::Age, window).await
}

/// Runs that fit `filter`, sorted.
pub async fn runs_by(db: &PgPool, filter: &RunFilter, sort: RunSort, window: &Window) -> Result<Page<Run>> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} {FROM} WHERE e.kind = 'run'"));
    and(&mut query, "e.state = ", filter.state.map(State::name));
    and(&mut query, "e.recipe = ", filter.recipe.clone());
    and(&mut query, "r.experiment_id = ", filter.experiment.map(|id| id.0));
    and(&mut query, "r.arm = ", filter.arm.clone());
    and(&mut query, "r.tags @> ", filter.tag.clone().map(|tag| vec![tag]));
    and(&mut query, "lower(r.name) LIKE ", filter.name.as_deref().map(prefix));
    let Some((column, value)) = sort.value() else {
        return by_seq(db, query, "e.seq", window).await;
    };
    order_by_value(&mut query, (column, "e.seq"), window);
    let mut page: Page<Run> = limited(db, query, window).await?;
    let last = page.items.last().map(value);
    page.next = page.next.map(|key| Key { value: last, ..key });
    Ok(page)
}

/// One run.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn run(db: impl PgExecutor<'_>, id: ExecutionId) -> Result<RunDetail> {
    let mut query = QueryBuilder::new(format!(
        "SELECT {COLUMNS}, r.note, e.config, e.metrics, e.trace_id {FROM} WHERE e.kind = 'run' AND e.id = "
    ));
    query.push_bind(id.0);
    let run = query.build_query_as().fetch_optional(db).await?;
    run.ok_or_else(|| StoreError::not_found("run", id))
}

/// The names of the runs `ids`, those that there are.
pub async fn run_names(db: &PgPool, ids: &[Uuid]) -> Result<Vec<(Uuid, String)>> {
    Ok(sqlx::query_as("SELECT id, name FROM runs WHERE id = ANY($1)")
        .bind(ids)
        .fetch_all(db)
        .await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_pattern_would_read_as_more_is_taken_literally() {
        assert_eq!(prefix("50%_A\\"), "50\\%\\_a\\\\%");
    }
}
