//! Creating an execution and opening its steps.

use lyceum_core::{config::RunConfig, recipe::RunState};
use sqlx::{PgConnection, types::Json};

use crate::{
    Result,
    artifact::{self, Reason},
    text::json_text,
};

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
    let max_attempts = scheduling
        .max_attempts
        .unwrap_or(lyceum_core::config::SchedulingConfig::DEFAULT_MAX_ATTEMPTS);
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
