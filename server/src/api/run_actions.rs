//! Actions on existing runs.

use actix_web::{HttpRequest, HttpResponse, delete, patch, post, web};
use lyceum_core::{
    config::{MAX_PRIORITY, RunConfig},
    id::ExecutionId,
};
use lyceum_store::{
    StoreError, executions,
    runs::{self, RunChanges, RunDetail},
};
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::runs::find_experiment;
use crate::{
    api_error::ApiError,
    base_weights,
    contract::{
        Answer, bounds, check_if_match,
        document::{Document, RequestBody},
    },
    lab::Lab,
};

/// Changes to a run.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateRun {
    /// Its name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: Option<String>,
    /// A free-form note.
    #[schemars(length(max = bounds::NOTE))]
    note: Option<String>,
    /// Labels.
    #[schemars(length(max = bounds::TAGS))]
    tags: Option<Vec<String>>,
    /// Its experiment, by name or id.
    experiment: Option<String>,
    /// Items of runs with a higher priority are processed first.
    #[schemars(range(min = -MAX_PRIORITY, max = MAX_PRIORITY))]
    priority: Option<i16>,
    /// Maximum items in progress; 0 means no limit.
    #[schemars(range(max = 1_000_000))]
    max_concurrent: Option<u32>,
}

impl RequestBody for UpdateRun {}

/// Applies `act` to a run that still matches `If-Match`, and responds with the result. The run is locked in between.
async fn change(
    request: &HttpRequest,
    lab: &Lab,
    id: ExecutionId,
    act: impl AsyncFnOnce(&mut PgConnection) -> Result<(), StoreError>,
) -> Result<RunDetail, ApiError> {
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    executions::lock(&mut tx, id).await?;
    check_if_match(request, &runs::find(&mut *tx, id).await?)?;
    act(&mut tx).await?;
    let run = runs::find(&mut *tx, id).await?;
    tx.commit().await.map_err(StoreError::from)?;
    Ok(run)
}

/// Applies `act` to a run and reports it as `done`; workers and coordinators notice by themselves.
async fn steer(
    request: &HttpRequest,
    lab: &Lab,
    id: ExecutionId,
    done: &str,
    act: impl AsyncFnOnce(&mut PgConnection) -> Result<(), StoreError>,
) -> Result<Answer<RunDetail>, ApiError> {
    let run = change(request, lab, id, act).await?;
    tracing::info!(run.id = %id, "{done} run {id}");
    Ok(Answer::accepted(run))
}

/// Change a run's name, notes, tags, experiment, priority or limit.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("If-Match" = Option<String>, Header, description = "The run's expected ETag")),
    request_body = UpdateRun,
    responses((status = 200, description = "The run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[patch("/runs/{id}")]
pub(crate) async fn update_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    sent: Document<UpdateRun>,
) -> Result<Answer<RunDetail>, ApiError> {
    let changes = RunChanges {
        name: sent.value.name.as_deref(),
        note: sent.value.note.as_deref(),
        tags: sent.value.tags.as_deref(),
        experiment: find_experiment(lab.store.pool(), sent.value.experiment.as_deref()).await?,
        priority: sent.value.priority,
        max_concurrent: sent.value.max_concurrent,
    };
    let run = change(&request, &lab, *id, async |db| runs::update(db, *id, &changes).await).await?;
    Ok(Answer::ok(run))
}

/// Delete a run that has ended, with everything in it.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("If-Match" = Option<String>, Header, description = "The run's expected ETag")),
    responses((status = 204, description = "It is gone")),
    security(("token" = ["write"]))
)]
#[delete("/runs/{id}")]
pub(crate) async fn delete_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    check_if_match(&request, &runs::find(db, *id).await?)?;
    runs::remove(db, *id).await?;
    tracing::info!(run.id = %id, "deleted run {id}");
    Ok(HttpResponse::NoContent().finish())
}

/// Pause a run: no further work starts.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("If-Match" = Option<String>, Header, description = "The run's expected ETag")),
    responses((status = 202, description = "The run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[post("/runs/{id}/pause")]
pub(crate) async fn pause_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<RunDetail>, ApiError> {
    steer(&request, &lab, *id, "paused", async |db| {
        executions::pause(db, *id).await
    })
    .await
}

/// Resume a paused run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("If-Match" = Option<String>, Header, description = "The run's expected ETag")),
    responses((status = 202, description = "The run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[post("/runs/{id}/resume")]
pub(crate) async fn resume_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<RunDetail>, ApiError> {
    let run = runs::find(lab.store.pool(), *id).await?;
    let config = RunConfig::deserialize(&run.config).map_err(|error| ApiError::internal(&error))?;
    if let Some(fault) = base_weights::changed(&config).first() {
        return Err(ApiError::unprocessable(format!("{}: {}", fault.pointer, fault.detail)));
    }
    steer(&request, &lab, *id, "resumed", async |db| {
        executions::resume(db, *id).await
    })
    .await
}

/// Cancel a run. Its work in progress is dropped.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("If-Match" = Option<String>, Header, description = "The run's expected ETag")),
    responses((status = 202, description = "The run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[post("/runs/{id}/cancel")]
pub(crate) async fn cancel_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<RunDetail>, ApiError> {
    steer(&request, &lab, *id, "cancelled", async |db| {
        executions::cancel(db, *id).await
    })
    .await
}
