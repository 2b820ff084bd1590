//! What runs and evaluations share: starting, pausing, resuming, failing and ending.

mod state;

pub use state::{State, cancel, fail, lock, pause, resume};
pub(crate) use state::{restart, stop};

use chrono::{DateTime, Utc};
use lyceum_core::config::RunConfig;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::RunState;
use serde::Serialize;
use sqlx::types::Json;
use sqlx::{FromRow, PgConnection, PgPool};

use crate::artifact::Reason;
use crate::text::json_text;
use crate::{Result, artifact};

/// A run or evaluation to be started.
#[derive(Debug)]
pub(crate) struct NewExecution<'a> {
    /// `run` or `evaluation`.
    pub(crate) kind: &'static str,
    /// The resolved config.
    pub(crate) config: &'a RunConfig,
    /// Its state before its first step.
    pub(crate) state: &'a RunState,
    /// The recipe's metrics, in order.
    pub(crate) metrics: &'a [&'a str],
    /// Links the request to its work (W3C trace id).
    pub(crate) trace_id: Option<&'a str>,
}

/// Writes an execution and opens its first step.
pub(crate) async fn insert(tx: &mut PgConnection, new: &NewExecution<'_>) -> Result<()> {
    let scheduling = &new.config.scheduling;
    let max_attempts = scheduling.max_attempts.unwrap_or(lyceum_core::config::SchedulingConfig::DEFAULT_MAX_ATTEMPTS);
    sqlx::query(
        "INSERT INTO executions (id, kind, recipe, config, metrics, state, priority, max_concurrent, max_attempts, step,
             steps, stage, trace_id)
         VALUES ($1, $2, $3, $4, $5, 'running', $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(new.state.run.0)
    .bind(new.kind)
    .bind(&new.config.recipe)
    .bind(Json(new.config))
    .bind(new.metrics)
    .bind(scheduling.priority)
    .bind(scheduling.max_concurrent.map(u32::cast_signed))
    .bind(max_attempts.cast_signed())
    .bind(new.state.step.cast_signed())
    .bind(new.config.steps.cast_signed())
    .bind(&new.state.stage)
    .bind(new.trace_id)
    .execute(&mut *tx)
    .await?;
    open_step(tx, new.state).await
}

/// Writes the state of an execution before a step, and opens the step.
pub(crate) async fn open_step(tx: &mut PgConnection, state: &RunState) -> Result<()> {
    sqlx::query("INSERT INTO run_states (execution_id, step, state) VALUES ($1, $2, $3::text::json)")
        .bind(state.run.0)
        .bind(state.step.cast_signed())
        .bind(json_text("run state", state)?)
        .execute(&mut *tx)
        .await?;
    for digest in &state.artifacts {
        // An item that needs one that is gone says so.
        artifact::hold_if_there(tx, *digest, state.run, Reason::State, state.run.0, None).await?;
    }
    if !state.completed {
        sqlx::query("INSERT INTO steps (execution_id, step, stage) VALUES ($1, $2, $3)")
            .bind(state.run.0)
            .bind(state.step.cast_signed())
            .bind(&state.stage)
            .execute(&mut *tx)
            .await?;
    }
    Ok(())
}

/// Whether the newest item of an execution that generated or learned was started on a GPU.
pub async fn is_on_gpu(db: &PgPool, execution: ExecutionId) -> Result<bool> {
    Ok(sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM (VALUES ('rollout'), ('update')) AS kinds (kind), LATERAL (
             SELECT worker_id FROM work
             WHERE execution_id = $1 AND work.kind = kinds.kind AND started_at IS NOT NULL
             ORDER BY started_at DESC LIMIT 1
         ) newest JOIN workers k ON k.id = newest.worker_id WHERE k.device <> 'cpu')",
    )
    .bind(execution.0)
    .fetch_one(db)
    .await?)
}

/// Durations of a run's last steps.
#[derive(Clone, Debug, FromRow, Serialize)]
pub struct Pace {
    /// How many steps are counted: the last to end, at most 20.
    pub steps: i64,
    /// The median of their durations, in seconds.
    pub median_seconds: Option<f64>,
    /// Share of their time during which no item of the run was in progress.
    pub idle_share: Option<f64>,
    /// When the last of them ended.
    pub last_finished_at: Option<DateTime<Utc>>,
}

/// The pace of a run.
pub async fn pace(db: &PgPool, execution: ExecutionId) -> Result<Pace> {
    Ok(sqlx::query_as(
        "WITH recent AS (
             SELECT step, started_at, finished_at, extract(epoch FROM finished_at - started_at)::double precision AS wall
             FROM steps WHERE execution_id = $1 AND finished_at IS NOT NULL ORDER BY step DESC LIMIT 20
         ), busy AS (
             SELECT unnest(range_agg(tstzrange(w.started_at, w.finished_at))) AS span
             FROM work w JOIN recent r USING (step)
             WHERE w.execution_id = $1 AND w.started_at <= w.finished_at
         )
         SELECT count(*) AS steps, percentile_cont(0.5) WITHIN GROUP (ORDER BY wall) AS median_seconds,
             CASE WHEN sum(wall) > 0 THEN greatest(0, 1 - (SELECT coalesce(sum(extract(epoch FROM upper(span) - lower(span))), 0)
                 FROM busy)::double precision / sum(wall)) END AS idle_share,
             max(finished_at) AS last_finished_at
         FROM recent",
    )
    .bind(execution.0)
    .fetch_one(db)
    .await?)
}
