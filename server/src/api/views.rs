//! Saved views.

use actix_web::{HttpRequest, HttpResponse, delete, get, post, web};
use lyceum_core::fault::Fault;
use lyceum_store::views::{self, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    api_error::ApiError,
    contract::{
        Answer, Listing, Order, Page, Query, bounds, check_if_match,
        document::{Document, RequestBody},
        idempotent::{Begun, IdempotencyKey},
    },
    frame::address::PageAddress,
    lab::Lab,
};

/// A view to save.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateView {
    /// Its name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Path and query of a page, such as `/runs?state=running`.
    #[schemars(length(min = 1, max = 2000))]
    address: String,
}

/// A part of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListViewsQuery {
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListViewsQuery);

impl RequestBody for CreateView {}

/// The page at `address`, whose runs are there.
pub(super) async fn page_at(lab: &Lab, address: &str) -> Result<PageAddress, ApiError> {
    let fault = |detail: String| ApiError::invalid(vec![Fault::new("/address", detail)]);
    let page = PageAddress::parse(address).map_err(fault)?;
    match page.missing_run(lab.store.pool()).await? {
        Some(run) => Err(fault(format!(
            "it shows the run {run}, which does not exist or was deleted"
        ))),
        None => Ok(page),
    }
}

/// Save a view: a page with all that its address says.
#[utoipa::path(
    tag = "views",
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeats the response of the request with the same key")),
    request_body = CreateView,
    responses((status = 201, description = "The view", body = View)),
    security(("token" = ["write"]))
)]
#[post("/views")]
pub(crate) async fn create_view(
    lab: web::Data<Lab>,
    key: IdempotencyKey,
    sent: Document<CreateView>,
) -> Result<Answer<Value>, ApiError> {
    if let Some(answer) = key.answer(lab.store.pool(), &sent.fingerprint).await? {
        return Ok(answer);
    }
    let page = page_at(&lab, &sent.value.address).await?;
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let made = views::create(&mut creation.tx, &sent.value.name, &page.address()).await?;
    creation.finish(&made, &format!("/api/v1/views/{}", made.id)).await
}

/// List saved views.
#[utoipa::path(
    tag = "views",
    params(ListViewsQuery),
    responses((status = 200, description = "A page of views", body = Page<View>)),
    security(("token" = ["read"]))
)]
#[get("/views")]
pub(crate) async fn list_views(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<ListViewsQuery>,
) -> Result<Answer<Page<View>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("views", query.limit, query.cursor.as_deref(), query.order)?;
    Ok(listing.answer(&request, views::page(lab.store.pool(), listing.window()).await?))
}

/// Show a saved view.
#[utoipa::path(
    tag = "views",
    params(("id" = Uuid, Path, description = "The view")),
    responses((status = 200, description = "The view", body = View)),
    security(("token" = ["read"]))
)]
#[get("/views/{id}")]
pub(crate) async fn show_view(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<Answer<View>, ApiError> {
    Ok(Answer::ok(views::find(lab.store.pool(), *id).await?))
}

/// Delete a saved view; the page stays.
#[utoipa::path(
    tag = "views",
    params(("id" = Uuid, Path, description = "The view"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    responses((status = 204, description = "It is gone")),
    security(("token" = ["write"]))
)]
#[delete("/views/{id}")]
pub(crate) async fn delete_view(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    check_if_match(&request, &views::find(db, *id).await?)?;
    views::remove(db, *id).await?;
    Ok(HttpResponse::NoContent().finish())
}
