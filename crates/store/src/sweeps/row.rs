//! Sweeps and their runs as rows.

use chrono::{DateTime, Utc};
use lyceum_core::id::ExperimentId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgExecutor, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use super::SweepState;
use crate::executions::State;
use crate::page::{Key, Keyed, Page, Window, and, by_seq, keyed_by_seq};
use crate::seed::Seed;
use crate::{Result, StoreError};

/// A sweep.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Sweep {
    /// The sweep.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its experiment.
    pub experiment_id: Uuid,
    /// The experiment's name.
    pub experiment: String,
    /// The plan, as it was sent.
    #[schema(value_type = Object)]
    pub plan: serde_json::Value,
    /// How many of its runs are in progress at once.
    pub concurrency: i32,
    /// Seconds after which no more runs begin.
    pub budget_seconds: Option<f64>,
    /// `running`, `paused`, `completed` (no run is left to begin, and none is in progress) or `cancelled`.
    #[schema(value_type = String, example = "running")]
    pub state: SweepState,
    /// Why it is paused, if nobody asked for that.
    pub reason: Option<String>,
    /// Its runs, all together.
    pub runs: i64,
    /// How many have not begun.
    pub planned: i64,
    /// How many are in progress.
    pub open: i64,
    /// How many have completed.
    pub completed: i64,
    /// How many have failed, were cancelled, or could not begin.
    pub failed: i64,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// A run of a sweep.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct SweepRun {
    /// Its place in the sweep, from 0.
    pub ordinal: i32,
    /// Its arm.
    pub arm: String,
    /// Values of the grid's fields.
    #[schema(value_type = Object)]
    pub point: serde_json::Value,
    /// Its seed.
    #[sqlx(try_from = "String")]
    #[schema(value_type = u64)]
    pub seed: Seed,
    /// Its name.
    pub name: String,
    /// When it began; none before.
    pub begun_at: Option<DateTime<Utc>>,
    /// The run; none before it has begun, and once it was deleted.
    pub run_id: Option<Uuid>,
    /// Why it could not begin.
    pub error: Option<String>,
    /// The run's state.
    #[schema(value_type = Option<String>)]
    pub state: Option<State>,
    /// The run's current step.
    pub step: Option<i32>,
    /// The run's number of steps.
    pub steps: Option<i32>,
}

keyed_by_seq!(Sweep);

impl Keyed for SweepRun {
    fn key(&self) -> Key {
        Key { value: None, seq: i64::from(self.ordinal) }
    }
}

/// Selects sweeps.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct SweepFilter {
    /// Of this experiment.
    pub experiment: Option<ExperimentId>,
    /// In this state.
    pub state: Option<SweepState>,
}

const SELECT: &str =
    "SELECT s.id, s.seq, s.experiment_id, x.name AS experiment, s.plan, s.concurrency, s.budget_seconds, s.state,
        s.reason, count.runs, count.planned, count.open, count.completed,
        count.failed, s.created_at, s.updated_at, s.finished_at
     FROM sweeps s JOIN experiments x ON x.id = s.experiment_id,
         LATERAL (SELECT count(*) AS runs, count(*) FILTER (WHERE begun_at IS NULL) AS planned,
             count(*) FILTER (WHERE e.state IN ('running', 'paused')) AS open,
             count(*) FILTER (WHERE e.state = 'completed') AS completed,
             count(*) FILTER (WHERE r.error IS NOT NULL OR e.state IN ('failed', 'cancelled')) AS failed
             FROM sweep_runs r LEFT JOIN executions e ON e.id = r.run_id WHERE r.sweep_id = s.id) count
     WHERE true";

const RUNS: &str =
    "SELECT r.ordinal, r.arm, r.point, r.seed::text AS seed, r.name, r.begun_at, r.run_id, r.error, e.state, e.step, e.steps
     FROM sweep_runs r LEFT JOIN executions e ON e.id = r.run_id WHERE r.sweep_id = ";

/// One sweep.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: impl PgExecutor<'_>, id: Uuid) -> Result<Sweep> {
    let mut query = QueryBuilder::new(SELECT);
    query.push(" AND s.id = ").push_bind(id);
    let sweep = query.build_query_as().fetch_optional(db).await?;
    sweep.ok_or_else(|| StoreError::not_found("sweep", id))
}

/// Sweeps that fit `filter`.
pub async fn page(db: &PgPool, filter: &SweepFilter, window: &Window) -> Result<Page<Sweep>> {
    let mut query = QueryBuilder::new(SELECT);
    and(&mut query, "s.experiment_id = ", filter.experiment.map(|id| id.0));
    and(&mut query, "s.state = ", filter.state);
    by_seq(db, query, "s.seq", window).await
}

pub async fn runs(db: &PgPool, sweep: Uuid, window: &Window) -> Result<Page<SweepRun>> {
    let mut query = QueryBuilder::new(RUNS);
    query.push_bind(sweep);
    by_seq(db, query, "r.ordinal", window).await
}

/// The first `limit` runs of a sweep, in its order: the first seed of every arm and point, then the second.
pub async fn points(db: &PgPool, sweep: Uuid, limit: i64) -> Result<Vec<SweepRun>> {
    let mut query = QueryBuilder::new(RUNS);
    query.push_bind(sweep).push(" ORDER BY r.ordinal LIMIT ").push_bind(limit);
    Ok(query.build_query_as().fetch_all(db).await?)
}

#[derive(Clone, Copy, Debug)]
pub struct NewSweep<'a> {
    pub experiment: ExperimentId,
    /// The plan, as it was sent.
    pub plan: &'a serde_json::Value,
    /// How many of its runs are in progress at once.
    pub concurrency: u32,
    /// Seconds after which no more runs begin.
    pub budget_seconds: Option<f64>,
}

/// A run of a sweep that has not begun.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRun {
    /// Its place in the sweep, from 0.
    pub ordinal: u32,
    pub arm: String,
    /// Values of the grid's fields.
    pub point: serde_json::Value,
    pub seed: u64,
    pub name: String,
}

/// Writes a sweep with its planned runs; they begin once the transaction commits.
pub async fn create(tx: &mut PgConnection, new: &NewSweep<'_>, runs: &[PlannedRun]) -> Result<Uuid> {
    let id = Uuid::now_v7();
    sqlx::query(
        "INSERT INTO sweeps (id, experiment_id, plan, concurrency, budget_seconds) VALUES ($1, $2, $3, $4, $5)",
    )
    .bind(id)
    .bind(new.experiment.0)
    .bind(Json(new.plan))
    .bind(new.concurrency.cast_signed())
    .bind(new.budget_seconds)
    .execute(&mut *tx)
    .await?;
    let column = |of: fn(&PlannedRun) -> String| runs.iter().map(of).collect::<Vec<_>>();
    sqlx::query(
        "INSERT INTO sweep_runs (sweep_id, ordinal, arm, point, seed, name)
         SELECT $1, ordinal, arm, point::json, seed::numeric, name
         FROM unnest($2::int[], $3::text[], $4::text[], $5::text[], $6::text[]) AS each (ordinal, arm, point, seed, name)",
    )
    .bind(id)
    .bind(runs.iter().map(|run| run.ordinal.cast_signed()).collect::<Vec<_>>())
    .bind(column(|run| run.arm.clone()))
    .bind(column(|run| run.point.to_string()))
    .bind(column(|run| run.seed.to_string()))
    .bind(column(|run| run.name.clone()))
    .execute(&mut *tx)
    .await?;
    Ok(id)
}
