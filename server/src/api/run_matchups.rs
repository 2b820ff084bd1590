//! Matchups of a run.

use actix_web::{HttpRequest, get, web};
use lyceum_core::id::{ExecutionId, MemberId};
use lyceum_store::{
    matchups::{self, Matchup, MatchupFilter},
    runs,
};
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    Api,
    answer::Answer,
    bounds,
    page::{Listing, Order, Page},
    query::Query,
};
use crate::api_error::ApiError;

/// Filters of matchups.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListMatchupsQuery {
    /// Of this proposer.
    teacher: Option<Uuid>,
    /// Of this solver.
    student: Option<Uuid>,
    /// Of this step.
    #[schemars(range(max = i32::MAX))]
    step: Option<u32>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::openapi::query!(ListMatchupsQuery);

/// List the matchups of a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ListMatchupsQuery),
    responses((status = 200, description = "A page of matchups", body = Page<Matchup>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/matchups")]
pub(crate) async fn list_matchups(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListMatchupsQuery>,
) -> Result<Answer<Page<Matchup>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("matchups", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = MatchupFilter {
        teacher: query.teacher.map(MemberId),
        student: query.student.map(MemberId),
        step: query.step,
    };
    runs::find(api.store.pool(), *id).await?;
    Ok(listing.answer(
        &request,
        matchups::page(api.store.pool(), *id, &filter, listing.window()).await?,
    ))
}
