//! Share links.

use actix_web::{HttpRequest, HttpResponse, delete, get, post, web};
use chrono::{TimeDelta, Utc};
use lyceum_core::fault::Fault;
use lyceum_store::shares::{self, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::views::page_at;
use crate::{
    access::new_secret,
    api_error::ApiError,
    contract::{
        Answer, Caller, Listing, Order, Page, Query, bounds,
        document::{Document, RequestBody},
    },
    lab::Lab,
};

/// A share link to create.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateShare {
    /// Path and query of the page that it shows, such as `/runs?state=running`.
    #[schemars(length(min = 1, max = 2000))]
    address: String,
    /// Days until it expires; 7 by default.
    #[schemars(range(min = 1, max = 365))]
    days: Option<u16>,
}

/// A new share link, whose path is shown only once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedShare {
    /// Its stored data.
    #[serde(flatten)]
    kept: Share,
    /// The path of the link, with its secret.
    #[schema(example = "/shared/…")]
    path: String,
}

/// A part of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSharesQuery {
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListSharesQuery);

impl RequestBody for CreateShare {}

/// Create a link that shows a page, read-only, to whoever has it. The response is not stored, so this has no
/// `Idempotency-Key`.
#[utoipa::path(
    tag = "views",
    request_body = CreateShare,
    responses((status = 201, description = "The link", body = CreatedShare)),
    security(("token" = ["write"]))
)]
#[post("/shares")]
pub(crate) async fn create_share(
    lab: web::Data<Lab>,
    caller: Caller,
    sent: Document<CreateShare>,
) -> Result<Answer<CreatedShare>, ApiError> {
    let page = page_at(&lab, &sent.value.address).await?;
    if page.is_form() {
        let detail = "a form cannot be shared, since it can be filled from any run: share the page of what it made";
        return Err(ApiError::invalid(vec![Fault::new("/address", detail.to_owned())]));
    }
    let secret = new_secret("");
    let until = Utc::now() + TimeDelta::days(i64::from(sent.value.days.unwrap_or(7)));
    let kept = shares::create(lab.store.pool(), &secret, &page.address(), caller.token.id, until).await?;
    tracing::info!(share.id = %kept.id, "created a share link");
    let location = format!("/api/v1/shares/{}", kept.id);
    let path = format!("/shared/{secret}");
    Ok(Answer::created(CreatedShare { kept, path }, &location))
}

/// List share links that have not expired, without their secrets.
#[utoipa::path(
    tag = "views",
    params(ListSharesQuery),
    responses((status = 200, description = "A page of links", body = Page<Share>)),
    security(("token" = ["write"]))
)]
#[get("/shares")]
pub(crate) async fn list_shares(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<ListSharesQuery>,
) -> Result<Answer<Page<Share>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("shares", query.limit, query.cursor.as_deref(), query.order)?;
    Ok(listing.answer(&request, shares::page(lab.store.pool(), listing.window()).await?))
}

/// Revoke a share link.
#[utoipa::path(
    tag = "views",
    params(("id" = Uuid, Path, description = "The link's id, not its secret")),
    responses((status = 204, description = "It shows nothing any more")),
    security(("token" = ["write"]))
)]
#[delete("/shares/{id}")]
pub(crate) async fn revoke_share(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    shares::revoke(lab.store.pool(), *id).await?;
    Ok(HttpResponse::NoContent().finish())
}
