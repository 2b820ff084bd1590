//! Workers.

use actix_web::{HttpRequest, get, web};
use lyceum_core::id::WorkerId;
use lyceum_store::workers::{self, Worker, WorkerFilter, WorkerState};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Api;
use crate::api_error::ApiError;
use crate::contract::{Answer, Listing, Order, Page, Query, bounds};

/// Filters of workers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListWorkersQuery {
    /// In this state.
    state: Option<WorkerState>,
    /// `true` for present workers, `false` for those that have left.
    alive: Option<bool>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListWorkersQuery);

/// List workers.
#[utoipa::path(
    tag = "workers",
    params(ListWorkersQuery),
    responses((status = 200, description = "A page of workers", body = Page<Worker>)),
    security(("token" = ["read"]))
)]
#[get("/workers")]
pub(crate) async fn list_workers(
    request: HttpRequest,
    api: web::Data<Api>,
    query: Query<ListWorkersQuery>,
) -> Result<Answer<Page<Worker>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("workers", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = WorkerFilter {
        state: query.state,
        alive: query.alive,
    };
    Ok(listing.answer(
        &request,
        workers::page(api.store.pool(), &filter, listing.window()).await?,
    ))
}

/// Show a worker.
#[utoipa::path(
    tag = "workers",
    params(("id" = Uuid, Path, description = "The worker")),
    responses((status = 200, description = "The worker", body = Worker)),
    security(("token" = ["read"]))
)]
#[get("/workers/{id}")]
pub(crate) async fn show_worker(api: web::Data<Api>, id: web::Path<WorkerId>) -> Result<Answer<Worker>, ApiError> {
    Ok(Answer::ok(workers::find(api.store.pool(), *id).await?))
}
