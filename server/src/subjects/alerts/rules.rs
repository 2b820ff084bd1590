//! Rules of one's own for alerts, and acknowledgement.

use actix_web::web;
use lyceum_core::fault::{Fault, nearest};
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::REWARD_PART;
use lyceum_core::verify::is_part_name;
use lyceum_store::alerts::rules::{self, AlertRule, AlertRuleFilter, Comparison, Due, NewAlertRule};
use lyceum_store::alerts::{self, Alert, AlertKind, NewAlert};
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody};
use crate::contract::idempotent::{Begun, IdempotencyKey};
use crate::contract::{About, Answer, Caller, Endpoint, Filter, bounds, delete, list, show};
use crate::frame::format;
use crate::lab::Lab;

/// A rule to create: an alert is raised when the mean of a metric over the last steps of a run is beyond a bound.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateAlertRule {
    /// The run to watch. Exactly one of `run` and `tag` is given.
    #[serde(default)]
    run: Option<Uuid>,
    /// All runs with this tag are watched, also those that get it later.
    #[serde(default)]
    #[schemars(length(min = 1, max = bounds::NAME))]
    tag: Option<String>,
    /// A metric that the run, or some recipe, records.
    #[schemars(length(min = 1, max = bounds::NAME))]
    #[schema(example = "solve_rate")]
    metric: String,
    /// How the mean is compared with `value`.
    #[schema(value_type = String, example = "below")]
    comparison: Comparison,
    /// The bound.
    value: f64,
    /// Number of last steps to average over; 1 by default. Runs with fewer steps are not checked.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000))]
    steps: Option<u32>,
}

impl RequestBody for CreateAlertRule {}

impl Filter for AlertRuleFilter {}

pub(in crate::subjects) fn endpoints() -> Vec<Endpoint> {
    let new = About::new("create_alert_rule", "/alert-rules").says(
        "Create a rule that raises an alert when a metric's mean over a run's last steps is beyond a bound, once \
                  until it no longer is.",
        "The rule",
    );
    let new = Endpoint::post(new, "alerts", create_rule).idempotent().takes::<CreateAlertRule>().creates::<AlertRule>();
    let all = About::new("list_alert_rules", "/alert-rules").says("List rules.", "A page of rules");
    let all = list(all, "alerts", rules::page);
    let one = About::new("show_alert_rule", "/alert-rules/{id}").says("Show a rule.", "The rule");
    let one = show(one, "alerts", rules::find).id("id", "The rule");
    let removal =
        About::new("delete_alert_rule", "/alert-rules/{id}").says("Delete a rule; its alerts stay.", "It is gone");
    let removal = delete(removal, "alerts", rules::find, rules::remove).id("id", "The rule").if_match();
    let acknowledge = About::new("acknowledge_alert", "/alerts/{id}/acknowledge")
        .says("Acknowledge an alert. The first acknowledgement counts.", "The alert");
    let acknowledge = Endpoint::post(acknowledge, "alerts", acknowledge_alert).id("id", "The alert").answers::<Alert>();
    vec![new, all, one, removal, acknowledge]
}

async fn acknowledge_alert(
    lab: web::Data<Lab>,
    caller: Caller,
    id: web::Path<Uuid>,
) -> Result<Answer<Alert>, ApiError> {
    let alert = alerts::acknowledge(lab.store.pool(), *id, &caller.token.name).await?;
    Ok(Answer::ok(alert))
}

async fn create_rule(
    lab: web::Data<Lab>,
    caller: Caller,
    key: IdempotencyKey,
    sent: Document<CreateAlertRule>,
) -> Result<Answer<Value>, ApiError> {
    let db = lab.store.pool();
    if let Some(answer) = key.answer(db, &sent.fingerprint).await? {
        return Ok(answer);
    }
    let asked = &sent.value;
    let invalid = |pointer: &str, detail: String| ApiError::invalid(vec![Fault::new(pointer, detail)]);
    let known: BTreeSet<String> = match (asked.run, &asked.tag) {
        (Some(run), None) => {
            let found = runs::find(db, ExecutionId(run)).await.map_err(|error| invalid("/run", error.to_string()))?;
            found.metrics.into_iter().collect()
        }
        (None, Some(_)) => metrics(&lab).await?,
        _ => {
            let detail = "exactly one of `run` (the id of a run) and `tag` (of all runs that have it) is valid";
            return Err(invalid("", detail.to_owned()));
        }
    };
    // Runs to come may have other rewards.
    let part = asked.metric.strip_prefix(REWARD_PART).filter(|_| asked.tag.is_some());
    if !known.contains(&asked.metric) && !part.is_some_and(is_part_name) {
        let meant = nearest(&asked.metric, known.iter().map(String::as_str));
        let meant = meant.map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"));
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let detail = format!("`{}` is not recorded{meant}; valid: {}", asked.metric, known.join(", "));
        return Err(invalid("/metric", detail));
    }
    let mut creation = match key.begin(db, sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let new = NewAlertRule {
        run: asked.run,
        tag: asked.tag.as_deref(),
        metric: &asked.metric,
        comparison: asked.comparison,
        value: asked.value,
        steps: asked.steps.unwrap_or(1),
        created_by: &caller.token.name,
    };
    let made = rules::create(&mut creation.tx, &new).await?;
    creation.finish(&made, &format!("/api/v1/alert-rules/{}", made.id)).await
}

/// The metrics of all recipes, and the parts of rewards that runs have recorded.
pub(super) async fn metrics(lab: &Lab) -> Result<BTreeSet<String>, ApiError> {
    let of_recipes = lab.registry.recipes().flat_map(|recipe| recipe.metrics());
    let names = of_recipes.map(|metric| metric.name.to_owned());
    Ok(names.chain(runs::reward_parts(lab.store.pool()).await?).collect())
}

/// The comparison in words, before the bound.
pub(super) fn words(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Above => "above",
        Comparison::AtLeast => "at least",
        Comparison::Below => "below",
        Comparison::AtMost => "at most",
    }
}

/// Raises an alert for every rule that holds of a run and did not before.
pub(super) async fn look(lab: &Lab) -> Result<(), ApiError> {
    let db = lab.store.pool();
    for due in rules::due(db).await? {
        // Without a value nothing is known, so what held is said to hold still.
        let holds = due.mean.map_or(due.held, |mean| due.comparison.holds(mean, due.value));
        if let Some(mean) = due.mean
            && holds
            && !due.held
        {
            raise(lab, &due, mean).await?;
        }
        rules::looked(db, &due, holds).await?;
    }
    Ok(())
}

async fn raise(lab: &Lab, due: &Due, mean: f64) -> Result<(), ApiError> {
    let over = match due.steps {
        1 => format!("step {}", due.step - 1),
        steps => format!("steps {} to {}", due.step - steps, due.step - 1),
    };
    let (metric, bound) = (&due.metric, format::value(&due.value));
    let words = words(due.comparison);
    let new = NewAlert {
        kind: AlertKind::Metric,
        subject: due.rule,
        // Servers that look at the same time raise one alert.
        occurrence: &format!("{} {}", due.run, due.step),
        run: Some(due.run),
        title: &format!("{}: {metric} is {words} {bound}", due.name),
        detail: &format!("The mean of {metric} over {over} is {}.", format::value(&mean)),
        only: None,
    };
    alerts::raise(lab.store.pool(), &new).await?;
    Ok(())
}
