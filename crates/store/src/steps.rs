//! Steps of runs and evaluations.

use chrono::{DateTime, Utc};
use lyceum_core::id::ExecutionId;
use lyceum_core::work::WorkKind;
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use utoipa::ToSchema;

use crate::page::{Page, Window, by_seq, keyed_by_seq};
use crate::{Result, StoreError};

/// The duration of each finished step of `run`, in seconds, in order.
pub async fn seconds(db: &PgPool, run: ExecutionId) -> Result<Vec<f64>> {
    // One array is read in a fraction of the time of as many rows.
    Ok(sqlx::query_scalar(
        "SELECT ARRAY(SELECT extract(epoch FROM finished_at - started_at)::float8 FROM steps
             WHERE execution_id = $1 AND finished_at IS NOT NULL ORDER BY step)",
    )
    .bind(run.0)
    .fetch_one(db)
    .await?)
}

/// The same with the number of each step. What a fork took over comes first, with the durations in the run that did it;
/// without them if that run was deleted.
pub async fn seconds_with_past(db: &PgPool, run: ExecutionId) -> Result<Vec<(i32, f64)>> {
    let (steps, seconds): (Vec<i32>, Vec<f64>) = sqlx::query_as(
        "SELECT coalesce(array_agg(step ORDER BY step), '{}'), coalesce(array_agg(seconds ORDER BY step), '{}')
         FROM (SELECT s.step, extract(epoch FROM s.finished_at - s.started_at)::float8 AS seconds
               FROM past_of($1) past JOIN steps s ON s.execution_id = past.run_id
               WHERE s.finished_at IS NOT NULL AND (past.before IS NULL OR s.step < past.before)) each",
    )
    .bind(run.0)
    .fetch_one(db)
    .await?;
    Ok(steps.into_iter().zip(seconds).collect())
}

/// A step.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Step {
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its number, from 0.
    pub step: i32,
    /// The recipe's name for this part of the run.
    pub stage: String,
    /// Items planned so far.
    pub total: i32,
    /// Items that have ended.
    pub ended: i32,
    /// Time spent planning it, in seconds.
    pub plan_seconds: f64,
    /// When it started.
    pub started_at: DateTime<Utc>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

keyed_by_seq!(Step);

const SELECT: &str = "SELECT step::bigint AS seq, step, stage, total, ended, plan_seconds, started_at, finished_at
    FROM steps WHERE execution_id = ";

/// Steps that have started.
pub async fn page(db: &PgPool, execution: ExecutionId, window: &Window) -> Result<Page<Step>> {
    let mut query = QueryBuilder::new(SELECT);
    query.push_bind(execution.0);
    by_seq(db, query, "step", window).await
}

/// One step.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, execution: ExecutionId, number: u32) -> Result<Step> {
    let mut query = QueryBuilder::new(SELECT);
    query.push_bind(execution.0).push(" AND step = ").push_bind(i64::from(number));
    let step = query.build_query_as().fetch_optional(db).await?;
    step.ok_or_else(|| StoreError::not_found("step", number))
}

/// When the finished steps of `run` ended, in order.
pub async fn ends(db: &PgPool, run: ExecutionId) -> Result<Vec<(i32, DateTime<Utc>)>> {
    Ok(sqlx::query_as(
        "SELECT step, finished_at FROM steps WHERE execution_id = $1 AND finished_at IS NOT NULL ORDER BY step",
    )
    .bind(run.0)
    .fetch_all(db)
    .await?)
}

/// The number of steps that had finished when `stage` ended, if it has, in `run` or before it was forked.
pub async fn end_of_stage(db: &PgPool, run: ExecutionId, stage: &str) -> Result<Option<i32>> {
    Ok(sqlx::query_scalar(
        "SELECT max(s.step) FILTER (WHERE s.stage = $2) + 1
         FROM past_of($1) past JOIN steps s ON s.execution_id = past.run_id
         WHERE s.finished_at IS NOT NULL AND (past.before IS NULL OR s.step < past.before)",
    )
    .bind(run.0)
    .bind(stage)
    .fetch_one(db)
    .await?)
}

/// One phase of a step.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct PhaseProgress {
    /// Its name.
    pub phase: String,
    pub kind: WorkKind,
    /// Items planned so far.
    pub total: i64,
    /// Items waiting for a worker.
    pub ready: i64,
    /// Items held by a worker.
    pub running: i64,
    /// Items with a result.
    pub done: i64,
    /// Items without tries left.
    pub failed: i64,
    /// Retries, over all items.
    pub retries: i64,
    /// Time workers spent on ended items, in seconds.
    pub seconds: f64,
}

/// The phases of a step, in the order they started.
pub async fn phases(db: &PgPool, execution: ExecutionId, step: i32) -> Result<Vec<PhaseProgress>> {
    Ok(sqlx::query_as(
        "SELECT phase, kind, count(*) AS total, count(*) FILTER (WHERE state = 'ready') AS ready,
             count(*) FILTER (WHERE state = 'running') AS running, count(*) FILTER (WHERE state = 'done') AS done,
             count(*) FILTER (WHERE state = 'failed') AS failed,
             coalesce(sum(greatest(attempts - 1, 0)), 0)::bigint AS retries,
             coalesce(sum(extract(epoch FROM finished_at - started_at)), 0)::double precision AS seconds
         FROM work WHERE execution_id = $1 AND step = $2 GROUP BY phase, kind ORDER BY min(seq)",
    )
    .bind(execution.0)
    .bind(step)
    .fetch_all(db)
    .await?)
}

/// The run and step of records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepRef {
    pub(crate) run: ExecutionId,
    pub(crate) step: u32,
}

impl StepRef {
    /// The step as Postgres' integer.
    pub(crate) fn number(self) -> i32 {
        self.step.cast_signed()
    }
}

/// A range of steps, and how many of them each point of a curve covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first step.
    pub from: u32,
    /// The last one.
    pub to: u32,
    /// Steps per point; at least 1.
    pub width: u32,
}

impl Stretch {
    /// All steps, `width` per point.
    #[must_use]
    pub fn whole(width: u32) -> Self {
        Self { from: 0, to: i32::MAX.cast_unsigned(), width: width.max(1) }
    }

    /// First, last and width as Postgres' integers.
    pub(crate) fn binds(self) -> [i32; 3] {
        [self.from, self.to, self.width.max(1)].map(|steps| i32::try_from(steps).unwrap_or(i32::MAX))
    }
}
