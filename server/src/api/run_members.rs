//! Members of a run.

use actix_web::{HttpRequest, get, web};
use lyceum_core::{
    id::{ExecutionId, MemberId},
    recipe::Role,
};
use lyceum_store::{
    members::{self, Member, MemberFilter},
    runs,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Api;
use crate::api_error::ApiError;
use crate::contract::{Answer, Listing, Order, Page, Query, bounds};

/// Filters of members.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListMembersQuery {
    /// `true` for living members, `false` for dead ones.
    alive: Option<bool>,
    /// With this role: `teacher`, `student`, `proposer`, `solver`, `challenger`, `planner` or `critic`.
    role: Option<Role>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListMembersQuery);

/// List the members of a run, each with its newest ratings and weights.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ListMembersQuery),
    responses((status = 200, description = "A page of members", body = Page<Member>)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/members")]
pub(crate) async fn list_members(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    query: Query<ListMembersQuery>,
) -> Result<Answer<Page<Member>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("members", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = MemberFilter {
        alive: query.alive,
        role: query.role,
    };
    runs::find(api.store.pool(), *id).await?;
    Ok(listing.answer(
        &request,
        members::page(api.store.pool(), *id, &filter, listing.window()).await?,
    ))
}

/// Show a member of a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("member" = Uuid, Path, description = "The member")),
    responses((status = 200, description = "The member", body = Member)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/members/{member}")]
pub(crate) async fn show_member(
    api: web::Data<Api>,
    place: web::Path<(ExecutionId, MemberId)>,
) -> Result<Answer<Member>, ApiError> {
    let (id, member) = place.into_inner();
    Ok(Answer::ok(members::find(api.store.pool(), id, member).await?))
}
