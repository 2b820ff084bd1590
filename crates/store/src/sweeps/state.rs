//! How a sweep goes on.

use lyceum_core::id::ExecutionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgConnection, PgPool};
use strum::{IntoStaticStr, VariantArray};
use utoipa::ToSchema;
use uuid::Uuid;

use super::PlannedRun;
use crate::seed::Seed;
use crate::text::storable;
use crate::{Result, StoreError};

/// What a sweep is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SweepState {
    /// Runs begin as others end.
    Running,
    /// No more runs begin; those in progress go on.
    Paused,
    /// All runs have ended.
    Completed,
    /// No more runs begin, ever.
    Cancelled,
}

lyceum_core::named!(SweepState, "a state of a sweep");

/// What decides whether another run begins.
#[derive(Clone, Debug, FromRow)]
pub struct Progress {
    /// The plan, as it was sent.
    pub plan: serde_json::Value,
    pub experiment_id: Uuid,
    /// How many of its runs may be in progress at once.
    pub concurrency: i32,
    /// Seconds after which no more runs begin.
    pub budget_seconds: Option<f64>,
    /// Seconds since it began.
    pub seconds: f64,
    /// Runs in progress.
    pub open: i64,
}

/// Changes to a sweep; `None` leaves a field as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepChanges {
    /// How many of its runs may be in progress at once.
    pub concurrency: Option<u32>,
    /// Seconds since its creation after which no more runs begin.
    pub budget_seconds: Option<f64>,
}

/// The sweeps that may begin runs, oldest first.
pub async fn running(db: &PgPool) -> Result<Vec<Uuid>> {
    Ok(sqlx::query_scalar("SELECT id FROM sweeps WHERE state = 'running' ORDER BY seq").fetch_all(db).await?)
}

/// Locks a running sweep until the transaction ends. False if it is not running, or another server has it.
pub async fn lock(tx: &mut PgConnection, id: Uuid) -> Result<bool> {
    let locked = sqlx::query("SELECT FROM sweeps WHERE id = $1 AND state = 'running' FOR UPDATE SKIP LOCKED");
    Ok(locked.bind(id).fetch_optional(tx).await?.is_some())
}

/// How far a sweep is.
pub async fn progress(tx: &mut PgConnection, id: Uuid) -> Result<Progress> {
    Ok(sqlx::query_as(
        "SELECT plan, experiment_id, concurrency, budget_seconds,
             extract(epoch FROM now() - created_at)::double precision AS seconds,
             (SELECT count(*) FROM sweep_runs r JOIN executions e ON e.id = r.run_id
              WHERE r.sweep_id = s.id AND e.state IN ('running', 'paused')) AS open
         FROM sweeps s WHERE id = $1",
    )
    .bind(id)
    .fetch_one(tx)
    .await?)
}

/// The next run to begin.
pub async fn next(tx: &mut PgConnection, id: Uuid) -> Result<Option<PlannedRun>> {
    #[derive(FromRow)]
    struct Row {
        ordinal: i32,
        arm: String,
        point: serde_json::Value,
        #[sqlx(try_from = "String")]
        seed: Seed,
        name: String,
    }
    let row: Option<Row> = sqlx::query_as(
        "SELECT ordinal, arm, point, seed::text AS seed, name FROM sweep_runs
         WHERE sweep_id = $1 AND begun_at IS NULL ORDER BY ordinal LIMIT 1",
    )
    .bind(id)
    .fetch_optional(tx)
    .await?;
    Ok(row.map(|row| PlannedRun {
        ordinal: row.ordinal.cast_unsigned(),
        arm: row.arm,
        point: row.point,
        seed: row.seed.0,
        name: row.name,
    }))
}

/// Notes that a run has begun.
pub async fn begun(tx: &mut PgConnection, sweep: Uuid, ordinal: u32, run: ExecutionId) -> Result<()> {
    sqlx::query("UPDATE sweep_runs SET begun_at = now(), run_id = $3 WHERE sweep_id = $1 AND ordinal = $2")
        .bind(sweep)
        .bind(ordinal.cast_signed())
        .bind(run.0)
        .execute(tx)
        .await?;
    Ok(())
}

/// Notes that a run could not begin.
pub async fn failed_to_begin(tx: &mut PgConnection, sweep: Uuid, ordinal: u32, error: &str) -> Result<()> {
    sqlx::query("UPDATE sweep_runs SET begun_at = now(), error = $3 WHERE sweep_id = $1 AND ordinal = $2")
        .bind(sweep)
        .bind(ordinal.cast_signed())
        .bind(&*storable(error))
        .execute(tx)
        .await?;
    Ok(())
}

/// Ends a sweep all of whose runs have ended.
pub async fn complete(tx: &mut PgConnection, id: Uuid) -> Result<()> {
    sqlx::query("UPDATE sweeps SET state = 'completed', finished_at = now(), updated_at = now() WHERE id = $1")
        .bind(id)
        .execute(tx)
        .await?;
    Ok(())
}

/// Pauses a running sweep.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] in another state.
pub async fn pause(tx: &mut PgConnection, id: Uuid, reason: Option<&str>) -> Result<()> {
    set(tx, id, &[SweepState::Running], SweepState::Paused, ("running", "paused"), reason).await
}

/// Lets a paused sweep go on.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] in another state.
pub async fn resume(tx: &mut PgConnection, id: Uuid) -> Result<()> {
    set(tx, id, &[SweepState::Paused], SweepState::Running, ("paused", "resumed"), None).await
}

/// Ends a sweep before its time.
///
/// # Errors
/// [`StoreError::NotFound`], or [`StoreError::Conflict`] if it has ended.
pub async fn cancel(tx: &mut PgConnection, id: Uuid) -> Result<()> {
    let open = [SweepState::Running, SweepState::Paused];
    set(tx, id, &open, SweepState::Cancelled, ("running or paused", "cancelled"), None).await
}

async fn set(
    tx: &mut PgConnection,
    id: Uuid,
    from: &[SweepState],
    to: SweepState,
    (wanted, action): (&'static str, &'static str),
    reason: Option<&str>,
) -> Result<()> {
    let state: Option<SweepState> = sqlx::query_scalar("SELECT state FROM sweeps WHERE id = $1 FOR UPDATE")
        .bind(id)
        .fetch_optional(&mut *tx)
        .await?;
    let state = state.ok_or_else(|| StoreError::not_found("sweep", id))?;
    if !from.contains(&state) {
        return Err(StoreError::Conflict {
            what: "sweep",
            id: id.to_string(),
            state: state.to_string(),
            wanted,
            action,
        });
    }
    sqlx::query(
        "UPDATE sweeps SET state = $2, reason = $3, updated_at = now(),
             finished_at = CASE WHEN $2 IN ('completed', 'cancelled') THEN now() END WHERE id = $1",
    )
    .bind(id)
    .bind(to)
    .bind(reason)
    .execute(tx)
    .await?;
    Ok(())
}

/// Changes the given fields.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn change(tx: &mut PgConnection, id: Uuid, changes: &SweepChanges) -> Result<()> {
    let changed = sqlx::query(
        "UPDATE sweeps SET concurrency = coalesce($2, concurrency), budget_seconds = coalesce($3, budget_seconds),
             updated_at = now() WHERE id = $1",
    )
    .bind(id)
    .bind(changes.concurrency.map(u32::cast_signed))
    .bind(changes.budget_seconds)
    .execute(tx)
    .await?;
    match changed.rows_affected() {
        0 => Err(StoreError::not_found("sweep", id)),
        _ => Ok(()),
    }
}
