//! Alerts.

use actix_web::{HttpRequest, get, web};
use lyceum_store::alerts::{self, Alert, AlertFilter, AlertKind};
use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::Api;
use crate::api_error::ApiError;
use crate::contract::{Answer, Listing, Order, Page, Query, bounds};

/// Filters of alerts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAlertsQuery {
    /// Of this kind.
    kind: Option<AlertKind>,
    /// About this run.
    run: Option<Uuid>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListAlertsQuery);

/// List alerts of the last thirty days.
#[utoipa::path(
    tag = "alerts",
    params(ListAlertsQuery),
    responses((status = 200, description = "A page of alerts", body = Page<Alert>)),
    security(("token" = ["read"]))
)]
#[get("/alerts")]
pub(crate) async fn list_alerts(
    request: HttpRequest,
    api: web::Data<Api>,
    query: Query<ListAlertsQuery>,
) -> Result<Answer<Page<Alert>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("alerts", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = AlertFilter {
        kind: query.kind,
        run: query.run,
    };
    Ok(listing.answer(
        &request,
        alerts::page(api.store.pool(), &filter, listing.window()).await?,
    ))
}
