//! Deliveries of alerts to webhooks.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, PgPool, QueryBuilder};
use std::time::Duration;
use strum::{IntoStaticStr, VariantArray};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::Result;
use crate::alerts::AlertKind;
use crate::page::{Page, Window, by_seq, keyed_by_seq};
use crate::text::storable;

/// How far a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(Serialize, Deserialize, IntoStaticStr, VariantArray, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DeliveryState {
    /// It is to be tried, or tried again.
    Waiting,
    /// The receiver has it.
    Delivered,
    /// It is not tried any more.
    Failed,
}

lyceum_core::named!(DeliveryState, "a state of a delivery");

/// A delivery of an alert.
#[derive(Clone, Debug, FromRow, Serialize, ToSchema)]
pub struct Delivery {
    #[serde(skip)]
    #[doc(hidden)]
    pub seq: i64,
    /// The alert.
    pub alert_id: Uuid,
    /// What the alert is about.
    #[schema(value_type = String, example = "failed")]
    pub kind: AlertKind,
    /// The alert in a few words.
    pub title: String,
    /// `waiting`, `delivered` or `failed`.
    #[schema(value_type = String, example = "delivered")]
    pub state: DeliveryState,
    /// How often it was tried.
    pub tries: i32,
    /// When it is tried next, while it is waiting.
    pub next_try_at: DateTime<Utc>,
    /// The status of the receiver's last response.
    pub status: Option<i32>,
    /// Why the last try failed.
    pub error: Option<String>,
    /// When the receiver got it.
    pub delivered_at: Option<DateTime<Utc>>,
    /// When the alert was raised.
    pub created_at: DateTime<Utc>,
}

keyed_by_seq!(Delivery);

/// A delivery to be tried now.
#[derive(Clone, Debug, FromRow)]
pub struct Due {
    /// The delivery.
    pub seq: i64,
    /// How often it was tried, this time included.
    pub tries: i32,
    pub url: String,
    /// Signs it.
    pub secret: String,
    pub alert_id: Uuid,
    /// What it is about.
    pub kind: AlertKind,
    /// The run that it is about.
    pub run_id: Option<Uuid>,
    /// What happened, in a few words.
    pub title: String,
    /// More about it.
    pub detail: String,
    /// When it was raised.
    pub created_at: DateTime<Utc>,
}

/// What came of a try.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The receiver has it.
    Delivered {
        /// The status of its response.
        status: u16,
    },
    /// To be tried again after this time.
    Again {
        /// The time.
        after: Duration,
        /// The status of the receiver's response, if there was one.
        status: Option<u16>,
        /// Why.
        error: String,
    },
    /// Not to be tried again.
    Failed {
        /// The status of the receiver's response, if there was one.
        status: Option<u16>,
        /// Why.
        error: String,
    },
}

/// Takes at most `limit` deliveries that are due. Each counts as tried, and is due again in two minutes unless an outcome
/// is recorded, so one that a server took along into its end is not lost.
pub async fn due(db: &PgPool, limit: i64) -> Result<Vec<Due>> {
    Ok(sqlx::query_as(
        "WITH taken AS (
             UPDATE deliveries SET tries = tries + 1, next_try_at = now() + interval '2 minutes'
             WHERE seq IN (SELECT seq FROM deliveries WHERE state = 'waiting' AND next_try_at <= now()
                 ORDER BY next_try_at LIMIT $1 FOR UPDATE SKIP LOCKED)
             RETURNING seq, tries, webhook_id, alert_id
         )
         SELECT t.seq, t.tries, w.url, w.secret, a.id AS alert_id, a.kind, a.run_id, a.title, a.detail, a.created_at
         FROM taken t JOIN webhooks w ON w.id = t.webhook_id JOIN alerts a ON a.id = t.alert_id ORDER BY t.seq",
    )
    .bind(limit)
    .fetch_all(db)
    .await?)
}

/// Records what came of a try.
pub async fn record(db: &PgPool, seq: i64, outcome: &Outcome) -> Result<()> {
    let (state, status, error, after) = match outcome {
        Outcome::Delivered { status } => (DeliveryState::Delivered, Some(*status), None, Duration::ZERO),
        Outcome::Again { after, status, error } => (DeliveryState::Waiting, *status, Some(error), *after),
        Outcome::Failed { status, error } => (DeliveryState::Failed, *status, Some(error), Duration::ZERO),
    };
    sqlx::query(
        "UPDATE deliveries SET state = $2, status = $3, error = $4, next_try_at = now() + make_interval(secs => $5),
             delivered_at = CASE WHEN $2 = 'delivered' THEN now() END WHERE seq = $1",
    )
    .bind(seq)
    .bind(state)
    .bind(status.map(i32::from))
    .bind(error.map(|error| storable(error).into_owned()))
    .bind(after.as_secs_f64())
    .execute(db)
    .await?;
    Ok(())
}

pub async fn deliveries(db: &PgPool, webhook: Uuid, window: &Window) -> Result<Page<Delivery>> {
    let mut query = QueryBuilder::new(
        "SELECT d.seq, d.alert_id, a.kind, a.title, d.state, d.tries, d.next_try_at, d.status, d.error, d.delivered_at,
             d.created_at
         FROM deliveries d JOIN alerts a ON a.id = d.alert_id WHERE d.webhook_id = ",
    );
    query.push_bind(webhook);
    by_seq(db, query, "d.seq", window).await
}
