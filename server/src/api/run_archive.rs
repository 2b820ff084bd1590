//! The archive of a run.

use actix_web::{HttpRequest, get, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::{
    archive::{self, Cell, Insertion},
    runs,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Api;
use crate::api_error::ApiError;
use crate::contract::{Answer, Listing, Order, Page, Query, bounds};

/// The step of the map.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArchiveQuery {
    /// The map after this step; by default the current one.
    step: Option<u32>,
}

crate::contract::query!(ArchiveQuery);

/// Filters of insertions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListInsertionsQuery {
    /// Of this cell.
    #[schemars(range(max = i32::MAX))]
    cell: Option<u32>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListInsertionsQuery);

/// The map of an archive.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Archive {
    /// The step; absent for the current map.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    /// The occupied cells, in order.
    cells: Vec<Cell>,
    /// Sum of the elites' objectives.
    qd_score: f64,
}

/// Show the archive of a run, now or after a step.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ArchiveQuery),
    responses((status = 200, description = "The map", body = Archive)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/archive")]
pub(crate) async fn show_archive(
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ArchiveQuery>,
) -> Result<Answer<Archive>, ApiError> {
    runs::find(api.store.pool(), *id).await?;
    let cells = archive::cells_at(api.store.pool(), *id, query.0.step).await?;
    Ok(Answer::ok(Archive {
        step: query.0.step,
        qd_score: cells.iter().map(|cell| f64::from(cell.objective)).sum(),
        cells,
    }))
}

/// List the insertions into the archive of a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ListInsertionsQuery),
    responses((status = 200, description = "A page of insertions", body = Page<Insertion>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/archive/insertions")]
pub(crate) async fn list_insertions(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListInsertionsQuery>,
) -> Result<Answer<Page<Insertion>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("insertions", query.limit, query.cursor.as_deref(), query.order)?;
    runs::find(api.store.pool(), *id).await?;
    Ok(listing.answer(
        &request,
        archive::insertions(api.store.pool(), *id, query.cell, listing.window()).await?,
    ))
}
