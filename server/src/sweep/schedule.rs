//! Begins the runs of sweeps as others end. Any number of servers may do so: the lock on a sweep's row lets one at a time.

use actix_web::http::StatusCode;
use lyceum_core::id::{ExecutionId, ExperimentId};
use lyceum_store::{
    StoreError,
    sweeps::{self, PlannedRun, Progress},
};
use serde_json::{Map, Value};
use sqlx::PgConnection;
use std::{sync::Arc, time::Duration};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::file::{Source, SweepPlan};
use crate::{
    api::{begin_run, configured, settle_datasets},
    api_error::ApiError,
    contract::document::apart,
    lab::Lab,
};

/// What came of looking at a sweep.
enum Looked {
    /// A run began, or could not; there may be more to do.
    More,
    /// Nothing is to be done now.
    Done,
}

/// Looks every `every` whether runs can begin, until `stop`.
pub(crate) async fn run(lab: Lab, every: Duration, stop: CancellationToken) {
    let mut tick = interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        let ids = match sweeps::running(lab.store.pool()).await {
            Ok(ids) => ids,
            Err(error) => {
                tracing::warn!(%error, "cannot look for sweeps");
                continue;
            }
        };
        for id in ids {
            while !stop.is_cancelled() {
                match look(&lab, id).await {
                    Ok(Looked::More) => {}
                    Ok(Looked::Done) => break,
                    Err(error) => {
                        tracing::warn!(sweep.id = %id, %error, "cannot go on with sweep {id} now");
                        break;
                    }
                }
            }
        }
    }
}

/// Begins at most one run of a sweep.
async fn look(lab: &Lab, id: Uuid) -> Result<Looked, ApiError> {
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    if !sweeps::lock(&mut tx, id).await? {
        return Ok(Looked::Done);
    }
    let progress = sweeps::progress(&mut tx, id).await?;
    let next = sweeps::next(&mut tx, id).await?;
    let looked = match next {
        None if progress.open == 0 => {
            sweeps::complete(&mut tx, id).await?;
            tracing::info!(sweep.id = %id, "sweep {id} completed");
            Looked::Done
        }
        None => Looked::Done,
        Some(_) if progress.open >= i64::from(progress.concurrency) => Looked::Done,
        Some(_) if progress.budget_seconds.is_some_and(|budget| progress.seconds >= budget) => {
            sweeps::pause(&mut tx, id, Some("its budget is spent; raise it to continue")).await?;
            Looked::Done
        }
        Some(planned) => match begin(&mut tx, lab, &progress, &planned).await {
            Ok(run) => {
                sweeps::begun(&mut tx, id, planned.ordinal, run).await?;
                tracing::info!(sweep.id = %id, run.id = %run, "sweep {id} began run {run}");
                Looked::More
            }
            Err(error) if may_pass(&error) => return Err(error),
            Err(error) => {
                tx.rollback().await.map_err(StoreError::from)?;
                return refuse(lab, id, planned.ordinal, &error).await;
            }
        },
    };
    tx.commit().await.map_err(StoreError::from)?;
    Ok(looked)
}

/// Whether the same attempt may succeed later.
fn may_pass(error: &ApiError) -> bool {
    error.status().is_server_error() || error.status() == StatusCode::TOO_MANY_REQUESTS
}

/// Notes why a run cannot begin, and goes on with the others.
async fn refuse(lab: &Lab, id: Uuid, ordinal: u32, error: &ApiError) -> Result<Looked, ApiError> {
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    if !sweeps::lock(&mut tx, id).await? {
        return Ok(Looked::Done);
    }
    sweeps::failed_to_begin(&mut tx, id, ordinal, error.detail()).await?;
    tx.commit().await.map_err(StoreError::from)?;
    Ok(Looked::More)
}

async fn begin(
    tx: &mut PgConnection,
    lab: &Lab,
    progress: &Progress,
    planned: &PlannedRun,
) -> Result<ExecutionId, ApiError> {
    let read = SweepPlan::from_value(progress.plan.clone(), Source::Plan)?;
    let point: Map<String, Value> = planned.point.as_object().cloned().unwrap_or_default();
    let request = read
        .plan
        .request(&planned.arm, &point, planned.seed, Some(&planned.name));
    let request = Arc::new(request);
    let (shared, asked) = (lab.clone(), Arc::clone(&request));
    let config = apart(move || configured(&shared, &asked)).await??;
    let recipe = lab
        .registry
        .get(&config.recipe)
        .map_err(|unknown| ApiError::unprocessable(unknown.to_string()))?;
    let config = settle_datasets(&mut *tx, lab, recipe.as_ref(), config, &request).await?;
    begin_run(
        tx,
        lab,
        &config,
        &request,
        Some(ExperimentId(progress.experiment_id)),
        None,
    )
    .await
}
