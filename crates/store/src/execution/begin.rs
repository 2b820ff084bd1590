//! New runs and evaluations.

use lyceum_core::{
    config::RunConfig,
    evaluation::EvaluationSpec,
    id::{ExecutionId, ExperimentId},
    recipe::RunState,
};
use sha2::{Digest as _, Sha256};
use sqlx::{PgConnection, types::Json};

use crate::{
    Result, StoreError,
    artifact::{self, Reason},
    event,
    text::json_text,
};

/// What a new run is made of.
#[derive(Clone, Debug)]
pub struct NewRun<'a> {
    /// What people call it.
    pub name: &'a str,
    /// The experiment that it belongs to.
    pub experiment: Option<ExperimentId>,
    /// The preset that its config came from.
    pub preset: Option<&'a str>,
    /// Labels.
    pub tags: &'a [String],
    /// Anything.
    pub note: &'a str,
    /// The resolved config.
    pub config: &'a RunConfig,
    /// What it remembers before its first step.
    pub state: &'a RunState,
    /// The recipe's metrics, in order.
    pub metrics: &'a [&'static str],
    /// Follows the request into the work.
    pub trace_id: Option<&'a str>,
    /// The run that it branches off from, and at which step.
    pub forked_from: Option<(ExecutionId, u32)>,
}

/// Writes a run; it begins as soon as the transaction is through.
pub async fn begin_run(tx: &mut PgConnection, new: &NewRun<'_>) -> Result<()> {
    let id = new.state.run;
    insert(tx, "run", id, new.config, new.state, new.metrics, new.trace_id).await?;
    sqlx::query(
        "INSERT INTO runs (id, experiment_id, name, arm, seed, preset, tags, note, forked_from, forked_at_step)
         VALUES ($1, $2, $3, $4, $5::text::numeric, $6, $7, $8, $9, $10)",
    )
    .bind(id.0)
    .bind(new.experiment.map(|experiment| experiment.0))
    .bind(new.name)
    .bind(arm(new.config)?)
    .bind(new.config.seed.to_string())
    .bind(new.preset)
    .bind(new.tags)
    .bind(new.note)
    .bind(new.forked_from.map(|(run, _)| run.0))
    .bind(new.forked_from.map(|(_, step)| step.cast_signed()))
    .execute(&mut *tx)
    .await?;
    event::append(tx, id, "created", &serde_json::json!({ "name": new.name })).await?;
    event::wake_coordinator(&mut *tx, id).await
}

/// What a new evaluation is made of.
#[derive(Clone, Debug)]
pub struct NewEvaluation<'a> {
    /// What it measures.
    pub spec: &'a EvaluationSpec,
    /// The run that it looks at, where it is one.
    pub run: Option<ExecutionId>,
    /// The resolved config of its plan.
    pub config: &'a RunConfig,
    /// What its plan starts from.
    pub state: &'a RunState,
    /// Follows the request into the work.
    pub trace_id: Option<&'a str>,
}

/// Writes an evaluation; it begins as soon as the transaction is through.
pub async fn begin_evaluation(tx: &mut PgConnection, new: &NewEvaluation<'_>) -> Result<()> {
    let id = new.state.run;
    insert(tx, "evaluation", id, new.config, new.state, &[], new.trace_id).await?;
    sqlx::query("INSERT INTO evaluations (id, run_id, spec) VALUES ($1, $2, $3)")
        .bind(id.0)
        .bind(new.run.map(|run| run.0))
        .bind(Json(new.spec))
        .execute(&mut *tx)
        .await?;
    event::append(tx, id, "created", &serde_json::json!({ "spec": new.spec })).await?;
    event::wake_coordinator(&mut *tx, id).await
}

async fn insert(
    tx: &mut PgConnection,
    kind: &str,
    id: ExecutionId,
    config: &RunConfig,
    state: &RunState,
    metrics: &[&'static str],
    trace_id: Option<&str>,
) -> Result<()> {
    let scheduling = &config.scheduling;
    let max_attempts = scheduling
        .max_attempts
        .unwrap_or(lyceum_core::config::SchedulingConfig::DEFAULT_MAX_ATTEMPTS);
    sqlx::query(
        "INSERT INTO executions (id, kind, recipe, config, metrics, state, priority, max_concurrent, max_attempts, step,
             steps, stage, trace_id)
         VALUES ($1, $2, $3, $4, $5, 'running', $6, $7, $8, $9, $10, $11, $12)",
    )
    .bind(id.0)
    .bind(kind)
    .bind(&config.recipe)
    .bind(Json(config))
    .bind(metrics)
    .bind(scheduling.priority)
    .bind(scheduling.max_concurrent.map(u32::cast_signed))
    .bind(max_attempts.cast_signed())
    .bind(state.step.cast_signed())
    .bind(config.steps.cast_signed())
    .bind(&state.stage)
    .bind(trace_id)
    .execute(&mut *tx)
    .await?;
    open_step(tx, state).await
}

/// Writes what an execution remembers before a step, and opens the step.
pub(crate) async fn open_step(tx: &mut PgConnection, state: &RunState) -> Result<()> {
    sqlx::query("INSERT INTO run_states (execution_id, step, state) VALUES ($1, $2, $3::text::json)")
        .bind(state.run.0)
        .bind(state.step.cast_signed())
        .bind(json_text("run state", state)?)
        .execute(&mut *tx)
        .await?;
    for digest in &state.artifacts {
        artifact::hold(tx, *digest, state.run, Reason::State, state.run.0, None).await?;
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

/// The arm of a run: the hash of its config without the seed.
fn arm(config: &RunConfig) -> Result<String> {
    let seedless = RunConfig {
        seed: 0,
        ..config.clone()
    };
    let mut seedless = serde_json::to_value(&seedless).map_err(StoreError::json("config"))?;
    // The order in which a user wrote parameters makes no other arm.
    seedless.sort_all_objects();
    let bytes = seedless.to_string();
    Ok(Sha256::digest(bytes)
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
