//! Webhooks: addresses that are notified of alerts.

mod delivery;

pub use delivery::{Delivery, DeliveryState, Due, Outcome, deliveries, due, record};

use chrono::{DateTime, Utc};
use serde::Serialize;
use sqlx::{FromRow, PgPool, QueryBuilder};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::page::{Page, Window, by_seq, keyed_by_seq};
use crate::{Result, StoreError};

/// A webhook, without its secret.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Webhook {
    /// The webhook.
    pub id: Uuid,
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// Its name.
    pub name: String,
    /// Where alerts are sent.
    pub url: String,
    /// The kinds of alerts that it wants.
    pub kinds: Vec<String>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
}

keyed_by_seq!(Webhook);

#[derive(Clone, Copy, Debug)]
pub struct NewWebhook<'a> {
    pub name: &'a str,
    /// Where alerts are sent.
    pub url: &'a str,
    /// Signs what is sent.
    pub secret: &'a str,
    /// The kinds of alerts that it wants.
    pub kinds: &'a [String],
}

const COLUMNS: &str = "id, seq, name, url, kinds, created_at";

/// Writes a webhook; it is notified of alerts from now on.
pub async fn create(db: &PgPool, new: &NewWebhook<'_>) -> Result<Webhook> {
    let mut query = QueryBuilder::new("INSERT INTO webhooks (id, name, url, secret, kinds) VALUES (");
    query.push_bind(Uuid::now_v7()).push(", ").push_bind(new.name).push(", ");
    query.push_bind(new.url).push(", ").push_bind(new.secret).push(", ").push_bind(new.kinds);
    query.push(format_args!(") RETURNING {COLUMNS}"));
    Ok(query.build_query_as().fetch_one(db).await?)
}

/// One webhook.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn find(db: &PgPool, id: Uuid) -> Result<Webhook> {
    let mut query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM webhooks WHERE id = "));
    query.push_bind(id);
    let webhook = query.build_query_as().fetch_optional(db).await?;
    webhook.ok_or_else(|| StoreError::not_found("webhook", id))
}

pub async fn page(db: &PgPool, window: &Window) -> Result<Page<Webhook>> {
    let query = QueryBuilder::new(format!("SELECT {COLUMNS} FROM webhooks WHERE true"));
    by_seq(db, query, "seq", window).await
}

/// Removes a webhook with its deliveries.
///
/// # Errors
/// [`StoreError::NotFound`].
pub async fn remove(db: &PgPool, id: Uuid) -> Result<()> {
    let removed = sqlx::query("DELETE FROM webhooks WHERE id = $1").bind(id).execute(db).await?;
    match removed.rows_affected() {
        0 => Err(StoreError::not_found("webhook", id)),
        _ => Ok(()),
    }
}
