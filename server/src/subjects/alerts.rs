//! Alerts: raised from what the rows say, and sent to webhooks.

mod address;
mod deliver;
pub(super) mod page;
mod raise;
pub(super) mod rules;

use actix_web::{HttpResponse, web};
use lyceum_core::fault::Fault;
use lyceum_store::alerts::{self, AlertFilter, AlertKind, NewAlert};
use lyceum_store::page::Window;
use lyceum_store::webhooks::{self, NewWebhook, Webhook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use utoipa::ToSchema;
use uuid::Uuid;

use self::address::Policy;
use self::deliver::new_secret;
use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody};
use crate::contract::{About, All, Answer, Endpoint, Filter, bounds, delete, list, list_within, show};
use crate::lab::Lab;

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

impl Filter for AlertFilter {}

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

pub(super) fn endpoints() -> Vec<Endpoint> {
    let all = About::new("list_alerts", "/alerts").says("List alerts of the last thirty days.", "A page of alerts");
    let all = list(all, "alerts", alerts::page);
    let create = About::new("create_webhook", "/webhooks").says(
        "Create a webhook. The response is not stored, so this has no `Idempotency-Key`.",
        "The webhook, with its secret",
    );
    let create = Endpoint::post(create, "alerts", create_webhook).takes::<CreateWebhook>().creates::<CreatedWebhook>();
    let create = create.scope("admin");
    let all_webhooks =
        About::new("list_webhooks", "/webhooks").says("List webhooks, without their secrets.", "A page of webhooks");
    let all_webhooks =
        list(all_webhooks, "alerts", async |db: &PgPool, _: &All, window: &Window| webhooks::page(db, window).await)
            .scope("admin");
    let one = About::new("show_webhook", "/webhooks/{id}").says("Show a webhook, without its secret.", "The webhook");
    let one = show(one, "alerts", webhooks::find).id("id", "The webhook").scope("admin");
    let all_deliveries = About::new("list_deliveries", "/webhooks/{id}/deliveries")
        .says("List what was sent, or is to be sent, to a webhook.", "A page of deliveries");
    let sent = async |db: &PgPool, id: Uuid, _: &All, window: &Window| webhooks::deliveries(db, id, window).await;
    let all_deliveries =
        list_within(all_deliveries, "alerts", webhooks::find, sent).id("id", "The webhook").scope("admin");
    let test =
        About::new("test_webhook", "/webhooks/{id}/test").says("Send a test alert to a webhook.", "It is on its way");
    let test = Endpoint::post(test, "alerts", test_webhook).id("id", "The webhook").answers_nothing().scope("admin");
    let removal = About::new("delete_webhook", "/webhooks/{id}").says("Delete a webhook.", "It is gone");
    let remove = async |db: &PgPool, id: Uuid| {
        webhooks::remove(db, id).await?;
        tracing::info!(webhook.id = %id, "deleted a webhook");
        Ok(())
    };
    let removal = delete(removal, "alerts", webhooks::find, remove).id("id", "The webhook").if_match().scope("admin");
    vec![all, create, all_webhooks, one, all_deliveries, test, removal]
}

async fn create_webhook(
    lab: web::Data<Lab>,
    sent: Document<CreateWebhook>,
) -> Result<Answer<CreatedWebhook>, ApiError> {
    let sent = sent.value;
    let policy = Policy { private_hosts: lab.settings.webhooks.private_hosts.clone() };
    let url = sent.url.clone();
    let checked = tokio::task::spawn_blocking(move || policy.check(&url)).await;
    checked
        .map_err(|error| ApiError::internal(&error))?
        .map_err(|detail| ApiError::invalid(vec![Fault::new("/url", detail)]))?;
    let kinds = if sent.kinds.is_empty() { AlertKind::ALL.to_vec() } else { sent.kinds };
    let kinds: Vec<String> = kinds.into_iter().map(|kind| kind.name().to_owned()).collect();
    let secret = new_secret();
    let new = NewWebhook { name: &sent.name, url: &sent.url, secret: &secret, kinds: &kinds };
    let kept = webhooks::create(lab.store.pool(), &new).await?;
    tracing::info!(webhook.id = %kept.id, "created a webhook");
    let location = format!("/api/v1/webhooks/{}", kept.id);
    Ok(Answer::created(CreatedWebhook { kept, secret }, &location))
}

async fn test_webhook(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<HttpResponse, ApiError> {
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

/// Raises and delivers alerts every `every`, until `stop`.
pub(crate) async fn run(lab: Lab, every: Duration, stop: CancellationToken) {
    let mut tick = interval(every);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut collapses = raise::Watch::default();
    let sender = Arc::new(deliver::Sender::new(lab.settings.webhooks.clone()));
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = tick.tick() => {}
        }
        if let Err(error) = raise::raise_all(&lab, &mut collapses).await {
            tracing::warn!(%error, "cannot look for what to alert of");
        }
        if let Err(error) = deliver::deliver_due(lab.store.pool(), &sender).await {
            tracing::warn!(%error, "cannot deliver alerts");
        }
    }
}
