//! Webhooks, which are told of alerts.

use actix_web::{HttpRequest, HttpResponse, delete, get, post, web};
use lyceum_core::fault::Fault;
use lyceum_store::{
    alerts::{self, AlertKind, NewAlert},
    webhooks::{self, Delivery, NewWebhook, Webhook},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    alerts::{Policy, new_secret},
    api_error::ApiError,
    contract::{
        Answer, Listing, Order, Page, Query, bounds, check_if_match,
        document::{Document, RequestBody},
    },
    lab::Lab,
};

/// A webhook to create.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateWebhook {
    /// Its name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Where alerts are sent, with POST. A private address is refused unless the server allows its host.
    #[schemars(length(min = 1, max = 2000))]
    url: String,
    /// The kinds of alerts that it wants; by default all.
    #[serde(default)]
    #[schemars(length(max = 10))]
    kinds: Vec<AlertKind>,
}

impl RequestBody for CreateWebhook {}

/// A new webhook, with its secret, which is shown only once.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CreatedWebhook {
    /// Its stored data.
    #[serde(flatten)]
    kept: Webhook,
    /// Signs what is sent (standardwebhooks.com); it cannot be shown again.
    #[schema(example = "whsec_…")]
    secret: String,
}

/// A part of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListWebhooksQuery {
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListWebhooksQuery);

/// Create a webhook. The response is not stored, so this has no `Idempotency-Key`.
#[utoipa::path(
    tag = "alerts",
    request_body = CreateWebhook,
    responses((status = 201, description = "The webhook, with its secret", body = CreatedWebhook)),
    security(("token" = ["admin"]))
)]
#[post("/webhooks")]
pub(crate) async fn create_webhook(
    lab: web::Data<Lab>,
    sent: Document<CreateWebhook>,
) -> Result<Answer<CreatedWebhook>, ApiError> {
    let sent = sent.value;
    let policy = Policy {
        private_hosts: lab.settings.webhooks.private_hosts.clone(),
    };
    let url = sent.url.clone();
    let checked = tokio::task::spawn_blocking(move || policy.check(&url)).await;
    checked
        .map_err(|error| ApiError::internal(&error))?
        .map_err(|detail| ApiError::invalid(vec![Fault::new("/url", detail)]))?;
    let kinds = match sent.kinds.is_empty() {
        true => AlertKind::ALL.to_vec(),
        false => sent.kinds,
    };
    let kinds: Vec<String> = kinds.into_iter().map(|kind| kind.name().to_owned()).collect();
    let secret = new_secret();
    let new = NewWebhook {
        name: &sent.name,
        url: &sent.url,
        secret: &secret,
        kinds: &kinds,
    };
    let kept = webhooks::create(lab.store.pool(), &new).await?;
    tracing::info!(webhook.id = %kept.id, "created a webhook");
    let location = format!("/api/v1/webhooks/{}", kept.id);
    Ok(Answer::created(CreatedWebhook { kept, secret }, &location))
}

/// List webhooks, without their secrets.
#[utoipa::path(
    tag = "alerts",
    params(ListWebhooksQuery),
    responses((status = 200, description = "A page of webhooks", body = Page<Webhook>)),
    security(("token" = ["admin"]))
)]
#[get("/webhooks")]
pub(crate) async fn list_webhooks(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<ListWebhooksQuery>,
) -> Result<Answer<Page<Webhook>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("webhooks", query.limit, query.cursor.as_deref(), query.order)?;
    Ok(listing.answer(&request, webhooks::page(lab.store.pool(), listing.window()).await?))
}

/// Show a webhook, without its secret.
#[utoipa::path(
    tag = "alerts",
    params(("id" = Uuid, Path, description = "The webhook")),
    responses((status = 200, description = "The webhook", body = Webhook)),
    security(("token" = ["admin"]))
)]
#[get("/webhooks/{id}")]
pub(crate) async fn show_webhook(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<Answer<Webhook>, ApiError> {
    Ok(Answer::ok(webhooks::find(lab.store.pool(), *id).await?))
}

/// List what was sent, or is to be sent, to a webhook.
#[utoipa::path(
    tag = "alerts",
    params(("id" = Uuid, Path, description = "The webhook"), ListWebhooksQuery),
    responses((status = 200, description = "A page of deliveries", body = Page<Delivery>)),
    security(("token" = ["admin"]))
)]
#[get("/webhooks/{id}/deliveries")]
pub(crate) async fn list_deliveries(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
    query: Query<ListWebhooksQuery>,
) -> Result<Answer<Page<Delivery>>, ApiError> {
    let (db, query) = (lab.store.pool(), query.0);
    let listing = Listing::new("deliveries", query.limit, query.cursor.as_deref(), query.order)?;
    webhooks::find(db, *id).await?;
    Ok(listing.answer(&request, webhooks::deliveries(db, *id, listing.window()).await?))
}

/// Send a test alert to a webhook.
#[utoipa::path(
    tag = "alerts",
    params(("id" = Uuid, Path, description = "The webhook")),
    responses((status = 204, description = "It is on its way")),
    security(("token" = ["admin"]))
)]
#[post("/webhooks/{id}/test")]
pub(crate) async fn test_webhook(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let webhook = webhooks::find(db, *id).await?;
    let new = NewAlert {
        kind: AlertKind::Test,
        subject: webhook.id,
        occurrence: &Uuid::now_v7().to_string(),
        run: None,
        title: &format!("A test of the webhook {}", webhook.name),
        detail: "This is only a test; nothing has happened.",
        only: Some(webhook.id),
    };
    alerts::raise(db, &new).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Delete a webhook.
#[utoipa::path(
    tag = "alerts",
    params(("id" = Uuid, Path, description = "The webhook"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    responses((status = 204, description = "It is gone")),
    security(("token" = ["admin"]))
)]
#[delete("/webhooks/{id}")]
pub(crate) async fn delete_webhook(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    check_if_match(&request, &webhooks::find(db, *id).await?)?;
    webhooks::remove(db, *id).await?;
    tracing::info!(webhook.id = %id, "deleted a webhook");
    Ok(HttpResponse::NoContent().finish())
}
