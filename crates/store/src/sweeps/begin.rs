//! Writing a sweep.

use lyceum_core::id::ExperimentId;
use sqlx::{PgConnection, types::Json};
use uuid::Uuid;

use crate::Result;

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
    /// The name that it will have.
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
