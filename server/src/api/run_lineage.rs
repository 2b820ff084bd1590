//! The family tree of a run.

use actix_web::{HttpRequest, get, web};
use lyceum_core::id::ExecutionId;
use lyceum_store::{
    births::{self, Birth},
    runs,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Api;
use crate::api_error::ApiError;
use crate::contract::{Answer, Listing, Order, Page, Query, bounds};

/// Filters of births.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListBirthsQuery {
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListBirthsQuery);

/// List the births of a run with the parents' weights, operator and seed, from which each can be replayed.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ListBirthsQuery),
    responses((status = 200, description = "A page of births", body = Page<Birth>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/lineage")]
pub(crate) async fn list_births(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListBirthsQuery>,
) -> Result<Answer<Page<Birth>>, ApiError> {
    let listing = Listing::new("births", query.0.limit, query.0.cursor.as_deref(), query.0.order)?;
    runs::find(api.store.pool(), *id).await?;
    Ok(listing.answer(&request, births::page(api.store.pool(), *id, listing.window()).await?))
}
