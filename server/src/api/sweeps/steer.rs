//! Actions on sweeps.

use actix_web::{HttpRequest, patch, post, web};
use lyceum_store::{
    StoreError,
    sweeps::{self, Sweep, SweepChanges},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::body::UpdateSweep;
use crate::{
    api_error::ApiError,
    contract::{Answer, check_if_match, document::Document},
    lab::Lab,
};

/// Applies `act` to a sweep that still matches `If-Match`.
async fn steer(
    request: &HttpRequest,
    lab: &Lab,
    id: Uuid,
    act: impl AsyncFnOnce(&mut PgConnection) -> Result<(), StoreError>,
) -> Result<Answer<Sweep>, ApiError> {
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    check_if_match(request, &sweeps::find(&mut *tx, id).await?)?;
    act(&mut tx).await?;
    let sweep = sweeps::find(&mut *tx, id).await?;
    tx.commit().await.map_err(StoreError::from)?;
    Ok(Answer::ok(sweep))
}

/// Change how many runs of a sweep are in progress at once, or its budget.
#[utoipa::path(
    tag = "sweeps",
    params(("id" = Uuid, Path, description = "The sweep"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    request_body = UpdateSweep,
    responses((status = 200, description = "The sweep", body = Sweep)),
    security(("token" = ["write"]))
)]
#[patch("/sweeps/{id}")]
pub(crate) async fn update_sweep(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
    sent: Document<UpdateSweep>,
) -> Result<Answer<Sweep>, ApiError> {
    let changes = SweepChanges {
        concurrency: sent.value.concurrency,
        budget_seconds: sent.value.budget_seconds,
    };
    steer(&request, &lab, *id, async |db| sweeps::change(db, *id, &changes).await).await
}

/// Pause a sweep: no more runs begin, and those in progress go on.
#[utoipa::path(
    tag = "sweeps",
    params(("id" = Uuid, Path, description = "The sweep"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    responses((status = 200, description = "The sweep", body = Sweep), (status = 409, description = "It is not running")),
    security(("token" = ["write"]))
)]
#[post("/sweeps/{id}/pause")]
pub(crate) async fn pause_sweep(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
) -> Result<Answer<Sweep>, ApiError> {
    steer(&request, &lab, *id, async |db| sweeps::pause(db, *id, None).await).await
}

/// Let a paused sweep go on.
#[utoipa::path(
    tag = "sweeps",
    params(("id" = Uuid, Path, description = "The sweep"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    responses((status = 200, description = "The sweep", body = Sweep), (status = 409, description = "It is not paused")),
    security(("token" = ["write"]))
)]
#[post("/sweeps/{id}/resume")]
pub(crate) async fn resume_sweep(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
) -> Result<Answer<Sweep>, ApiError> {
    steer(&request, &lab, *id, async |db| sweeps::resume(db, *id).await).await
}

/// Cancel a sweep: no more runs begin, and those in progress go on.
#[utoipa::path(
    tag = "sweeps",
    params(("id" = Uuid, Path, description = "The sweep"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    responses((status = 200, description = "The sweep", body = Sweep), (status = 409, description = "It has ended")),
    security(("token" = ["write"]))
)]
#[post("/sweeps/{id}/cancel")]
pub(crate) async fn cancel_sweep(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
) -> Result<Answer<Sweep>, ApiError> {
    steer(&request, &lab, *id, async |db| sweeps::cancel(db, *id).await).await
}
