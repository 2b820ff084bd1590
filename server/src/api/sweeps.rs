//! Sweeps: experiments that run by themselves.

mod body;
pub(super) mod steer;

pub(crate) use body::{CreateSweep, UpdateSweep};

use actix_web::{HttpRequest, get, post, web};
use lyceum_core::{fault::Fault, id::ExperimentId};
use lyceum_store::{
    experiments::{self, NewExperiment},
    sweeps::{self, NewSweep, Sweep, SweepFilter, SweepRun, SweepState},
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    api_error::ApiError,
    contract::{
        Answer, Listing, Order, Page, Query, bounds,
        document::Document,
        idempotent::{Begun, IdempotencyKey},
    },
    frame::format,
    lab::Lab,
    sweep::{ASKED_ABOVE, MAX_RUNS, Outlook, SweepPlan, check},
};

/// Whether to begin the sweep or only check it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSweepQuery {
    /// `true` creates nothing and returns what the plan comes to.
    dry_run: Option<bool>,
}

/// Filters of sweeps.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSweepsQuery {
    /// Of this experiment.
    experiment: Option<Uuid>,
    /// In this state.
    state: Option<SweepState>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

/// A part of a list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListSweepRunsQuery {
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the last to begin) or `oldest` (the default) first.
    order: Option<Order>,
}

crate::contract::query!(CreateSweepQuery);
crate::contract::query!(ListSweepsQuery);
crate::contract::query!(ListSweepRunsQuery);

/// Begin a sweep, with an experiment of its own: runs of arms x seeds x a grid, some of them at a time.
///
/// All configs are checked first, and nothing is created if one is not valid. A sweep of more than 100 runs begins only if
/// `confirm_runs` has their number.
#[utoipa::path(
    tag = "sweeps",
    params(CreateSweepQuery, ("Idempotency-Key" = Option<String>, Header, description = "Repeats the response of the request with the same key")),
    request_body = CreateSweep,
    responses(
        (status = 201, description = "The sweep", body = Sweep),
        (status = 200, description = "What the plan comes to (`dry_run`)", body = Outlook),
    ),
    security(("token" = ["write"]))
)]
#[post("/sweeps")]
pub(crate) async fn create_sweep(
    lab: web::Data<Lab>,
    query: Query<CreateSweepQuery>,
    key: IdempotencyKey,
    sent: Document<CreateSweep>,
) -> Result<Answer<Value>, ApiError> {
    let is_trial = query.0.dry_run == Some(true);
    if !is_trial && let Some(answer) = key.answer(lab.store.pool(), &sent.fingerprint).await? {
        return Ok(answer);
    }
    let (source, read) = sent.value.read()?;
    let mut plan = read.plan;
    plan.concurrency = sent.value.concurrency.or(plan.concurrency);
    if let Some(name) = &sent.value.name {
        plan.title.clone_from(name);
    }
    let runs = allowed(&plan, source.pointer(), sent.value.confirm_runs, is_trial)?;
    let outlook = check(&lab, &plan, source, read.unused).await?;
    if is_trial {
        let body = serde_json::to_value(outlook).map_err(|error| ApiError::internal(&error))?;
        return Ok(Answer::ok(body));
    }
    within_budget(&outlook, source.pointer())?;
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let new = NewExperiment {
        name: &plan.title,
        description: &plan.description,
        tags: &[],
    };
    let experiment = experiments::create(&mut creation.tx, &new).await?;
    let document = serde_json::to_value(&plan).map_err(|error| ApiError::internal(&error))?;
    let new = NewSweep {
        experiment: ExperimentId(experiment.id),
        plan: &document,
        concurrency: outlook.concurrency,
        budget_seconds: outlook.budget_seconds,
    };
    let id = sweeps::create(&mut creation.tx, &new, &plan.runs()).await?;
    let made = sweeps::find(&mut *creation.tx, id).await?;
    let answer = creation.finish(&made, &format!("/api/v1/sweeps/{id}")).await?;
    tracing::info!(sweep.id = %id, "created sweep {id} of {runs} runs");
    Ok(answer)
}

/// The number of runs of `plan`, if it may begin.
fn allowed(plan: &SweepPlan, at: &str, confirmed: Option<u64>, is_trial: bool) -> Result<usize, ApiError> {
    let refused = |pointer: String, detail: String| Err(ApiError::invalid(vec![Fault::new(pointer, detail)]));
    let runs = match plan.count() {
        Some(runs) if runs <= MAX_RUNS => runs,
        Some(runs) => {
            let detail = format!("arms x seeds x the grid are {runs} runs; at most {MAX_RUNS} are valid");
            return refused(format!("{at}/grid"), detail);
        }
        None => return refused(format!("{at}/grid"), format!("at most {MAX_RUNS} runs are valid")),
    };
    if runs > ASKED_ABOVE && confirmed != Some(runs as u64) && !is_trial {
        let detail = match confirmed {
            Some(other) => format!("this sweep has {runs} runs, not {other}"),
            None => format!("this sweep has {runs} runs; if that is meant, send `confirm_runs`: {runs}"),
        };
        return refused("/confirm_runs".to_owned(), detail);
    }
    Ok(runs)
}

/// Refuses a plan that takes longer than its budget, as far as its time is known.
fn within_budget(outlook: &Outlook, at: &str) -> Result<(), ApiError> {
    match (outlook.seconds, outlook.budget_seconds) {
        (Some(seconds), Some(budget)) if seconds > budget => {
            let detail = format!(
                "{} runs, {} at a time, take about {} at the pace of earlier ones; the budget is {}",
                outlook.runs,
                outlook.concurrency,
                format::duration(&seconds),
                format::duration(&budget)
            );
            Err(ApiError::invalid(vec![Fault::new(format!("{at}/budget"), detail)]))
        }
        _ => Ok(()),
    }
}

/// List sweeps.
#[utoipa::path(
    tag = "sweeps",
    params(ListSweepsQuery),
    responses((status = 200, description = "A page of sweeps", body = Page<Sweep>)),
    security(("token" = ["read"]))
)]
#[get("/sweeps")]
pub(crate) async fn list_sweeps(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<ListSweepsQuery>,
) -> Result<Answer<Page<Sweep>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("sweeps", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = SweepFilter {
        experiment: query.experiment.map(ExperimentId),
        state: query.state,
    };
    Ok(listing.answer(
        &request,
        sweeps::page(lab.store.pool(), &filter, listing.window()).await?,
    ))
}

/// Show a sweep.
#[utoipa::path(
    tag = "sweeps",
    params(("id" = Uuid, Path, description = "The sweep")),
    responses((status = 200, description = "The sweep", body = Sweep)),
    security(("token" = ["read"]))
)]
#[get("/sweeps/{id}")]
pub(crate) async fn show_sweep(lab: web::Data<Lab>, id: web::Path<Uuid>) -> Result<Answer<Sweep>, ApiError> {
    Ok(Answer::ok(sweeps::find(lab.store.pool(), *id).await?))
}

/// List the runs of a sweep, those that have not begun too.
#[utoipa::path(
    tag = "sweeps",
    params(("id" = Uuid, Path, description = "The sweep"), ListSweepRunsQuery),
    responses((status = 200, description = "A page of its runs", body = Page<SweepRun>)),
    security(("token" = ["read"]))
)]
#[get("/sweeps/{id}/runs")]
pub(crate) async fn list_sweep_runs(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
    query: Query<ListSweepRunsQuery>,
) -> Result<Answer<Page<SweepRun>>, ApiError> {
    let db = lab.store.pool();
    let query = query.0;
    let order = query.order.or(Some(Order::Oldest));
    let listing = Listing::new("sweep-runs", query.limit, query.cursor.as_deref(), order)?;
    sweeps::find(db, *id).await?;
    Ok(listing.answer(&request, sweeps::runs(db, *id, listing.window()).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seeds: usize) -> SweepPlan {
        let seeds = (0..seeds).map(|seed| seed.to_string()).collect::<Vec<_>>().join(",");
        let text = format!("title = 't'\nseeds = [{seeds}]\n[arms.a]\npreset = 'demo'\n");
        SweepPlan::from_toml(&text).ok().unwrap().plan
    }

    #[test]
    fn many_runs_begin_only_if_their_number_was_confirmed() {
        let many = plan(10_000);
        let said = allowed(&many, "/plan", None, false).unwrap_err();
        assert_eq!(said.errors()[0].pointer.as_deref(), Some("/confirm_runs"));
        assert!(said.errors()[0].detail.contains("10000 runs"));
        assert!(allowed(&many, "/plan", Some(9_999), false).is_err());
        assert_eq!(allowed(&many, "/plan", Some(10_000), false).unwrap(), 10_000);
        assert_eq!(allowed(&many, "/plan", None, true).unwrap(), 10_000);
        assert_eq!(allowed(&plan(100), "/plan", None, false).unwrap(), 100);
    }
}
