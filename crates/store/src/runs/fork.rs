//! Forking a run at a step.

use lyceum_core::config::RunConfig;
use lyceum_core::id::{ExecutionId, MemberId, PopulationId, VersionId};
use lyceum_core::recipe::RunState;
use sqlx::types::Json;
use sqlx::{PgConnection, PgPool};
use std::sync::Arc;
use uuid::Uuid;

use super::{NewRun, begin};
use crate::artifact::{self, Reason};
use crate::{Result, StoreError};

/// A fork to be written.
#[derive(Clone, Debug)]
pub struct Fork<'a> {
    /// The new run.
    pub id: ExecutionId,
    /// The run it is forked from.
    pub from: ExecutionId,
    /// The step before which it is forked.
    pub step: u32,
    /// Its state: [`state_at`] of the run it is forked from.
    pub state: RunState,
    /// All else; its `state` and `forked_from` are filled in here.
    pub name: &'a str,
    /// The resolved config, which may differ from that of the original run.
    pub config: &'a RunConfig,
    /// The recipe's metrics, in order.
    pub metrics: &'a [&'a str],
    /// Links the request to its work (W3C trace id).
    pub trace_id: Option<&'a str>,
}

/// The state of a run before `step`, with its config at that time.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::NoSuchStep`] with the available steps.
pub async fn state_at(db: &PgPool, run: ExecutionId, step: u32) -> Result<RunState> {
    let config: Option<Json<RunConfig>> =
        sqlx::query_scalar("SELECT config FROM executions WHERE id = $1").bind(run.0).fetch_optional(db).await?;
    let config = config.ok_or_else(|| StoreError::not_found("run", run))?;
    let state: Option<Json<RunState>> =
        sqlx::query_scalar("SELECT state FROM run_states WHERE execution_id = $1 AND step = $2")
            .bind(run.0)
            .bind(i32::try_from(step).unwrap_or(i32::MAX))
            .fetch_optional(db)
            .await?;
    let Some(Json(state)) = state else {
        let (first, last): (i32, i32) = sqlx::query_as(
            "SELECT coalesce(min(step), 0), coalesce(max(step), 0) FROM run_states WHERE execution_id = $1",
        )
        .bind(run.0)
        .fetch_one(db)
        .await?;
        return Err(StoreError::NoSuchStep { run, step, first: first.cast_unsigned(), last: last.cast_unsigned() });
    };
    Ok(RunState { config: Arc::new(config.0), ..state })
}

/// Writes the fork: populations, members and versions get new ids, so both runs can continue. What is known of them from
/// before is copied; earlier problems and attempts stay with the original run.
///
/// # Errors
/// [`StoreError::NoSuchStep`] if the fork's config leaves no steps to run; [`StoreError::Removed`] if weights are gone.
pub async fn fork(tx: &mut PgConnection, fork: &Fork<'_>) -> Result<()> {
    if fork.step >= fork.config.steps {
        return Err(StoreError::NoSuchStep {
            run: fork.from,
            step: fork.step,
            first: 0,
            last: fork.config.steps.saturating_sub(1),
        });
    }
    let mut memory = fork.state.memory.to_string();
    let mut rename = |old: Uuid, new: Uuid| memory = memory.replace(&old.to_string(), &new.to_string());

    let populations: Vec<(Uuid, String)> = sqlx::query_as("SELECT id, name FROM populations WHERE run_id = $1")
        .bind(fork.from.0)
        .fetch_all(&mut *tx)
        .await?;
    let members: Vec<(Uuid, String)> =
        sqlx::query_as("SELECT id, name FROM members WHERE run_id = $1 AND born_step < $2 ORDER BY seq")
            .bind(fork.from.0)
            .bind(fork.step.cast_signed())
            .fetch_all(&mut *tx)
            .await?;
    let versions: Vec<(Uuid, Uuid, i32)> =
        sqlx::query_as("SELECT id, member_id, ordinal FROM adapter_versions WHERE run_id = $1 AND step < $2")
            .bind(fork.from.0)
            .bind(fork.step.cast_signed())
            .fetch_all(&mut *tx)
            .await?;
    let new_member = |old: Uuid| members.iter().find(|(id, _)| *id == old).map(|(_, name)| MemberId::of(fork.id, name));
    for (old, name) in &populations {
        rename(*old, PopulationId::of(fork.id, name).0);
    }
    for (old, name) in &members {
        rename(*old, MemberId::of(fork.id, name).0);
    }
    for (old, member, ordinal) in &versions {
        if let Some(member) = new_member(*member) {
            rename(*old, VersionId::of(member, ordinal.cast_unsigned()).0);
        }
    }
    let state = RunState {
        run: fork.id,
        config: Arc::new(fork.config.clone()),
        memory: serde_json::from_str(&memory).map_err(StoreError::json("run state"))?,
        completed: fork.config.is_over(fork.step, fork.state.generated_tokens, 0),
        ..fork.state.clone()
    };
    begin(
        tx,
        &NewRun {
            name: fork.name,
            experiment: None,
            preset: None,
            tags: &[],
            note: "",
            config: fork.config,
            state: &state,
            metrics: fork.metrics,
            trace_id: fork.trace_id,
            forked_from: Some((fork.from, fork.step)),
        },
    )
    .await?;
    sqlx::query(
        "UPDATE runs f SET experiment_id = o.experiment_id, tags = o.tags, preset = o.preset FROM runs o
         WHERE f.id = $1 AND o.id = $2",
    )
    .bind(fork.id.0)
    .bind(fork.from.0)
    .execute(&mut *tx)
    .await?;
    for (old, name) in &populations {
        sqlx::query(
            "INSERT INTO populations (id, run_id, name, base_model, lora)
             SELECT $1, $2, name, coalesce($4, base_model), lora FROM populations WHERE id = $3",
        )
        .bind(PopulationId::of(fork.id, name).0)
        .bind(fork.id.0)
        .bind(old)
        .bind(fork.config.populations.get(name).map(|own| Json(&own.base_model)))
        .execute(&mut *tx)
        .await?;
    }
    for (old, name) in &members {
        sqlx::query(
            "INSERT INTO members (id, run_id, population_id, name, roles, born_step, died_step, cause_of_death)
             SELECT $1, $2, f.id, m.name, m.roles, m.born_step, CASE WHEN m.died_step < $4 THEN m.died_step END,
                 CASE WHEN m.died_step < $4 THEN m.cause_of_death END
             FROM members m JOIN populations p ON p.id = m.population_id
             JOIN populations f ON f.run_id = $2 AND f.name = p.name WHERE m.id = $3",
        )
        .bind(MemberId::of(fork.id, name).0)
        .bind(fork.id.0)
        .bind(old)
        .bind(fork.step.cast_signed())
        .execute(&mut *tx)
        .await?;
    }
    for (old, member, ordinal) in &versions {
        let Some(member) = new_member(*member) else { continue };
        let version = VersionId::of(member, ordinal.cast_unsigned());
        let artifacts: (String, Option<String>) = sqlx::query_as(
            "INSERT INTO adapter_versions (id, run_id, member_id, ordinal, step, artifact, optimizer, learning_rate)
             SELECT $1, $2, $3, ordinal, step, artifact, optimizer, learning_rate FROM adapter_versions WHERE id = $4
             RETURNING artifact, optimizer",
        )
        .bind(version.0)
        .bind(fork.id.0)
        .bind(member.0)
        .bind(old)
        .fetch_one(&mut *tx)
        .await?;
        let (weights, optimizer) = artifacts;
        if let Ok(weights) = weights.parse() {
            artifact::hold(tx, weights, fork.id, Reason::Fork, version.0, None).await?;
        }
        // Of early versions it is kept no longer.
        if let Some(Ok(optimizer)) = optimizer.map(|digest| digest.parse()) {
            artifact::hold_if_there(tx, optimizer, fork.id, Reason::Fork, version.0, None).await?;
        }
    }
    super::inherit::inherit(tx, fork).await
}
