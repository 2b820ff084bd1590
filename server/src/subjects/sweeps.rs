//! Sweeps: experiments that run by themselves, given as a file of arms x seeds x a grid.

pub(crate) mod expand;
pub(crate) mod file;
pub(crate) mod schedule;

use actix_web::{HttpRequest, web};
use lyceum_core::fault::Fault;
use lyceum_core::id::ExperimentId;
use lyceum_store::StoreError;
use lyceum_store::experiments::{self, NewExperiment};
use lyceum_store::page::Window;
use lyceum_store::sweeps::{self, NewSweep, Sweep, SweepChanges, SweepFilter};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;
use uuid::Uuid;

use self::expand::{ASKED_ABOVE, MAX_RUNS, check};
use self::file::{Read, Source, SweepPlan};
use self::schedule::Outlook;
use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody};
use crate::contract::idempotent::{Begun, IdempotencyKey};
use crate::contract::{About, Answer, Endpoint, Filter, Order, Query, bounds, check_if_match, list, list_within, show};
use crate::frame::format;
use crate::lab::Lab;
use crate::subjects::experiments::stopping::Stopping;

/// Whether to begin the sweep or only check it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSweepQuery {
    /// `true` creates nothing and returns the runs, steps and time of the plan.
    dry_run: Option<bool>,
}

/// The runs of a sweep.
#[derive(Debug, Deserialize, JsonSchema)]
struct OfSweep {}

impl Filter for SweepFilter {}

impl Filter for OfSweep {
    const FIRST: Order = Order::Oldest;

    /// As earlier releases called this list.
    fn list(&self, _: &str) -> String {
        "sweep-runs".to_owned()
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let new = About::new("create_sweep", "/sweeps").says(
        "Begin a sweep, with an experiment of its own: runs of arms x seeds x a grid, some of them at a time.",
        "The sweep",
    );
    let new = Endpoint::post(new, "sweeps", create_sweep).query::<CreateSweepQuery>().idempotent();
    let new = new.takes::<CreateSweep>().creates::<Sweep>();
    let more = "All configs are checked first, and nothing is created if one is not valid. A sweep of more than 100 \
        runs begins only if `confirm_runs` has their number.";
    let new = new.or_answers::<Outlook>("200", "The runs, steps and time of the plan (`dry_run`)").describe(more);
    let all = About::new("list_sweeps", "/sweeps").says("List sweeps.", "A page of sweeps");
    let all = list(all, "sweeps", sweeps::page);
    let find = async |db: &PgPool, id: Uuid| sweeps::find(db, id).await;
    let one = About::new("show_sweep", "/sweeps/{id}").says("Show a sweep.", "The sweep");
    let one = show(one, "sweeps", find).id("id", "The sweep");
    let runs = async |db: &PgPool, id: Uuid, _: &OfSweep, window: &Window| sweeps::runs(db, id, window).await;
    let its_runs = About::new("list_sweep_runs", "/sweeps/{id}/runs")
        .says("List the runs of a sweep, those that have not begun too.", "A page of its runs");
    let its_runs = list_within(its_runs, "sweeps", find, runs).id("id", "The sweep");
    let change = About::new("update_sweep", "/sweeps/{id}")
        .says("Change how many runs of a sweep are in progress at once, or its budget.", "The sweep");
    let change = Endpoint::patch(change, "sweeps", update_sweep).id("id", "The sweep").if_match();
    let change = change.takes::<UpdateSweep>().answers::<Sweep>();
    let pause = About::new("pause_sweep", "/sweeps/{id}/pause")
        .says("Pause a sweep: no more runs begin, and those in progress go on.", "The sweep");
    let pause = Endpoint::post(pause, "sweeps", pause_sweep).id("id", "The sweep").if_match().answers::<Sweep>();
    let pause = pause.or("409", "It is not running");
    let resume = About::new("resume_sweep", "/sweeps/{id}/resume").says("Let a paused sweep go on.", "The sweep");
    let resume = Endpoint::post(resume, "sweeps", resume_sweep).id("id", "The sweep").if_match().answers::<Sweep>();
    let resume = resume.or("409", "It is not paused");
    let cancel = About::new("cancel_sweep", "/sweeps/{id}/cancel")
        .says("Cancel a sweep: no more runs begin, and those in progress go on.", "The sweep");
    let cancel = Endpoint::post(cancel, "sweeps", cancel_sweep).id("id", "The sweep").if_match().answers::<Sweep>();
    let cancel = cancel.or("409", "It has ended");
    vec![new, all, one, its_runs, change, pause, resume, cancel]
}

async fn create_sweep(
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
        stopping: Stopping::stored(plan.stopping.as_ref(), &format!("{}/stopping", source.pointer()))?.flatten(),
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

/// A sweep to begin, from either a file or a plan.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSweep {
    /// The text of an experiment's file, in TOML (`configs/experiments`).
    #[schemars(length(max = 500_000))]
    file: Option<String>,
    /// The same as an object: `title`, `seeds`, `arms` (each with a `preset` or a `config`, and `overrides`), and if wanted
    /// `description`, `base`, `common`, `grid`, `concurrency` and `budget` (`hours`, `minutes`).
    #[schema(value_type = Option<Object>)]
    plan: Option<Map<String, Value>>,
    /// The experiment's name, instead of the title.
    #[schemars(length(min = 1, max = bounds::NAME))]
    pub(crate) name: Option<String>,
    /// How many runs are in progress at once, instead of what the plan says.
    #[schemars(range(min = 1, max = 64))]
    pub(crate) concurrency: Option<u32>,
    /// The number of runs, if there are more than 100.
    pub(crate) confirm_runs: Option<u64>,
}

/// Changes to a sweep.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSweep {
    /// How many runs are in progress at once.
    #[schemars(range(min = 1, max = 64))]
    pub(crate) concurrency: Option<u32>,
    /// Seconds since it was created after which no more runs begin.
    #[schemars(range(min = 1.0, max = 1e9))]
    pub(crate) budget_seconds: Option<f64>,
}

impl RequestBody for CreateSweep {}
impl RequestBody for UpdateSweep {}

impl CreateSweep {
    /// The plan, and where it is in the request.
    pub(crate) fn read(&self) -> Result<(Source, Read), ApiError> {
        let (source, read) = match (&self.file, &self.plan) {
            (Some(text), None) => (Source::File, SweepPlan::from_toml(text)),
            (None, Some(plan)) => (Source::Plan, SweepPlan::from_value(Value::Object(plan.clone()), Source::Plan)),
            (Some(_), Some(_)) => {
                let detail = "there is also a file; send only one of the two";
                return Err(ApiError::invalid(vec![Fault::new("/plan", detail)]));
            }
            (None, None) => {
                let detail = "send a `file` (TOML) or a `plan` (an object)";
                return Err(ApiError::invalid(vec![Fault::new("", detail)]));
            }
        };
        Ok((source, read?))
    }
}

/// Applies `act` to a sweep that still matches `If-Match`.
async fn steer(
    request: &HttpRequest,
    lab: &Lab,
    id: Uuid,
    act: impl AsyncFnOnce(&mut PgConnection) -> Result<(), StoreError>,
) -> Result<Answer<Sweep>, ApiError> {
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    check_if_match(request, &sweeps::find(&mut *tx, id).await?)?;
    act(&mut tx).await?;
    let sweep = sweeps::find(&mut *tx, id).await?;
    tx.commit().await.map_err(StoreError::from)?;
    Ok(Answer::ok(sweep))
}

async fn update_sweep(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
    sent: Document<UpdateSweep>,
) -> Result<Answer<Sweep>, ApiError> {
    let changes = SweepChanges { concurrency: sent.value.concurrency, budget_seconds: sent.value.budget_seconds };
    steer(&request, &lab, *id, async |db| sweeps::change(db, *id, &changes).await).await
}

async fn pause_sweep(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
) -> Result<Answer<Sweep>, ApiError> {
    steer(&request, &lab, *id, async |db| sweeps::pause(db, *id, None).await).await
}

async fn resume_sweep(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
) -> Result<Answer<Sweep>, ApiError> {
    steer(&request, &lab, *id, async |db| sweeps::resume(db, *id).await).await
}

async fn cancel_sweep(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<Uuid>,
) -> Result<Answer<Sweep>, ApiError> {
    steer(&request, &lab, *id, async |db| sweeps::cancel(db, *id).await).await
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
