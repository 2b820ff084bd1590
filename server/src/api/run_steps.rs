//! Steps of a run.

use actix_web::{HttpRequest, get, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::{
    runs,
    steps::{self, Step},
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Api;
use crate::api_error::ApiError;
use crate::contract::{Answer, Listing, Order, Page, Query, bounds};

/// Filters of steps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListStepsQuery {
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListStepsQuery);

/// List the started steps of a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ListStepsQuery),
    responses((status = 200, description = "A page of steps", body = Page<Step>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/steps")]
pub(crate) async fn list_steps(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListStepsQuery>,
) -> Result<Answer<Page<Step>>, ApiError> {
    let listing = Listing::new("steps", query.0.limit, query.0.cursor.as_deref(), query.0.order)?;
    runs::find(api.store.pool(), *id).await?;
    Ok(listing.answer(&request, steps::page(api.store.pool(), *id, listing.window()).await?))
}

/// Show a step of a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("step" = u32, Path, description = "The step, from 0")),
    responses((status = 200, description = "The step", body = Step)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/steps/{step}")]
pub(crate) async fn show_step(
    api: web::Data<Api>,
    place: web::Path<(ExecutionId, u32)>,
) -> Result<Answer<Step>, ApiError> {
    let (id, step) = place.into_inner();
    Ok(Answer::ok(steps::find(api.store.pool(), id, step).await?))
}
