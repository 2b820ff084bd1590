//! `/alerts`: what somebody may want to know at once, the rules of one's own, and the webhooks that are notified of it.

use actix_web::{HttpResponse, get, web};
use askama::Template;
use lyceum_store::alerts::rules::{self, AlertRule, AlertRuleFilter, Comparison};
use lyceum_store::alerts::{self, Alert, AlertFilter, AlertKind};
use lyceum_store::page::{Order, Window};
use lyceum_store::runs;
use lyceum_store::tokens::Scope;
use lyceum_store::webhooks::{self, Delivery, Webhook};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use uuid::Uuid;

use super::rules::{metrics, words};
use crate::api_error::ApiError;
use crate::contract::Asked;
use crate::frame::format;
use crate::frame::layout::{Layout, Section};
use crate::frame::view::{Filters, Pager, View};
use crate::lab::Lab;

/// Deliveries of a webhook that are shown.
const DELIVERIES: u32 = 20;
/// Webhooks that are shown.
const WEBHOOKS: u32 = 50;
/// Rules that are shown.
const RULES: u32 = 100;

/// A rule, and the name of the run that it watches.
#[derive(Debug, Serialize)]
struct RuleLine {
    #[serde(flatten)]
    rule: AlertRule,
    run: Option<String>,
}

/// A webhook and what was sent to it last.
#[derive(Debug, Serialize)]
struct Told {
    #[serde(flatten)]
    webhook: Webhook,
    deliveries: Vec<Delivery>,
}

#[derive(Template, Serialize)]
#[template(path = "alerts.html")]
struct AlertsPage {
    #[serde(skip)]
    layout: Layout,
    #[serde(skip)]
    asked: AlertFilter,
    items: Vec<Alert>,
    rules: Vec<RuleLine>,
    /// Whether there are more rules than are shown.
    more_rules: bool,
    /// Metrics that rules can be about.
    #[serde(skip)]
    metrics: BTreeSet<String>,
    /// Webhooks, for admins only.
    webhooks: Option<Vec<Told>>,
    /// Whether there are more webhooks than are shown.
    more_webhooks: bool,
    #[serde(flatten)]
    pager: Pager,
}

impl AlertsPage {
    fn kinds(&self) -> [(AlertKind, bool); AlertKind::ALL.len()] {
        AlertKind::ALL.map(|kind| (kind, self.asked.kind == Some(kind)))
    }

    fn is_filtered(&self) -> bool {
        self.asked.kind.is_some() || self.asked.run.is_some() || self.asked.acknowledged.is_some()
    }

    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    fn comparisons(&self) -> [(Comparison, &'static str); Comparison::ALL.len()] {
        Comparison::ALL.map(|one| (one, words(one)))
    }

    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    fn condition(&self, rule: &AlertRule) -> String {
        let over = match rule.steps {
            1 => "in the last step".to_owned(),
            steps => format!("over the last {steps} steps"),
        };
        format!("{} {} {} {over}", rule.metric, words(rule.comparison), format::value(&rule.value))
    }

    #[expect(clippy::unused_self, reason = "templates call it on a value")]
    fn words(&self, kind: &AlertKind) -> &'static str {
        match kind {
            AlertKind::Failed => "failed",
            AlertKind::Stalled => "stalled",
            AlertKind::Completed => "completed",
            AlertKind::Collapsing => "collapsing",
            AlertKind::Metric => "metric",
            AlertKind::WorkerLost => "worker lost",
            AlertKind::Test => "test",
        }
    }
}

#[get("/alerts")]
pub(crate) async fn show_alerts(
    view: View,
    lab: web::Data<Lab>,
    filters: Filters<Asked<AlertFilter>>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    let asked = filters.0;
    let listing = asked.listing("alerts")?;
    let page = listing.page(alerts::page(db, &asked.filter, listing.window()).await?);
    let (webhooks, more_webhooks) = match view.caller.token.scope {
        Scope::Admin => {
            let (told, are_more) = told(&lab).await?;
            (Some(told), are_more)
        }
        Scope::Worker | Scope::Read | Scope::Write => (None, false),
    };
    let (rules, more_rules) = rule_lines(&lab).await?;
    view.show(&AlertsPage {
        rules,
        more_rules,
        metrics: metrics(&lab).await?,
        layout: view.layout("Alerts", Section::Alerts),
        asked: asked.filter,
        items: page.items,
        webhooks,
        more_webhooks,
        pager: view.pager(page.next),
    })
}

/// The newest rules, and whether there are more.
async fn rule_lines(lab: &Lab) -> Result<(Vec<RuleLine>, bool), ApiError> {
    let db = lab.store.pool();
    let newest = Window { limit: RULES, after: None, order: Order::Newest };
    let page = rules::page(db, &AlertRuleFilter::default(), &newest).await?;
    let watched: Vec<Uuid> = page.items.iter().filter_map(|rule| rule.run_id).collect();
    let names: HashMap<Uuid, String> = runs::names(db, &watched).await?.into_iter().collect();
    let line = |rule: AlertRule| RuleLine { run: rule.run_id.and_then(|run| names.get(&run).cloned()), rule };
    Ok((page.items.into_iter().map(line).collect(), page.next.is_some()))
}

/// The newest webhooks, and whether there are more.
async fn told(lab: &Lab) -> Result<(Vec<Told>, bool), ApiError> {
    let db = lab.store.pool();
    let newest = |limit| Window { limit, after: None, order: Order::Newest };
    let mut told = Vec::new();
    let page = webhooks::page(db, &newest(WEBHOOKS)).await?;
    for webhook in page.items {
        let deliveries = webhooks::deliveries(db, webhook.id, &newest(DELIVERIES)).await?.items;
        told.push(Told { webhook, deliveries });
    }
    Ok((told, page.next.is_some()))
}
