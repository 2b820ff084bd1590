//! Runs: lists, single ones, and actions on them.

pub(crate) mod ancestors;
pub(crate) mod create;
pub(super) mod fork;
pub(crate) mod metrics;
pub(crate) mod new;

use actix_web::{HttpRequest, web};
use lyceum_core::config::{MAX_PRIORITY, RunConfig};
use lyceum_core::fault::Fault;
use lyceum_core::id::{ExecutionId, ExperimentId};
use lyceum_store::executions::{self, State};
use lyceum_store::page::Window;
use lyceum_store::runs::{self, RunChanges, RunDetail, RunFilter, RunSort};
use lyceum_store::{StoreError, experiments};
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::api_error::ApiError;
use crate::base_weights;
use crate::contract::document::{Document, RequestBody};
use crate::contract::{About, Answer, Endpoint, Filter, bounds, check_if_match, delete, list, show};
use crate::lab::Lab;

/// Selects runs.
#[derive(Debug, Deserialize, JsonSchema)]
struct Selected {
    /// In this state.
    state: Option<State>,
    /// Of this recipe.
    recipe: Option<String>,
    /// Of this experiment.
    experiment: Option<Uuid>,
    /// Of this arm; the runs of an arm differ only by seed.
    arm: Option<String>,
    /// With this tag.
    tag: Option<String>,
    /// Whose name starts with this, ignoring case.
    name: Option<String>,
}

pub(crate) async fn find_experiment(db: &PgPool, name: Option<&str>) -> Result<Option<ExperimentId>, ApiError> {
    let Some(name) = name else { return Ok(None) };
    match experiments::named(db, name).await? {
        Some(id) => Ok(Some(id)),
        None => {
            let detail =
                format!("there is no experiment `{name}`: choose one of /experiments, or create it there first");
            Err(ApiError::invalid(vec![Fault::new("/experiment", detail)]))
        }
    }
}

impl Filter for Selected {}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let page = async |db: &PgPool, asked: &Selected, window: &Window| {
        let filter = RunFilter {
            state: asked.state,
            recipe: asked.recipe.clone(),
            experiment: asked.experiment.map(ExperimentId),
            arm: asked.arm.clone(),
            tag: asked.tag.clone(),
            name: asked.name.clone(),
            ..RunFilter::default()
        };
        runs::page(db, &filter, &RunSort::Age, window).await
    };
    let all = About::new("list_runs", "/runs").says("List runs.", "A page of runs");
    let all = list(all, "runs", page);
    let find = async |db: &PgPool, id: ExecutionId| runs::find(db, id).await;
    let one = About::new("show_run", "/runs/{id}").says("Show a run.", "The run");
    let one = show(one, "runs", find).id("id", "The run");
    let change = About::new("update_run", "/runs/{id}")
        .says("Change a run's name, notes, tags, experiment, priority or limit.", "The run");
    let change = Endpoint::patch(change, "runs", update_run).id("id", "The run").if_match().takes::<UpdateRun>();
    let change = change.answers::<RunDetail>();
    let remove = async |db: &PgPool, id: ExecutionId| {
        runs::remove(db, id).await?;
        tracing::info!(run.id = %id, "deleted run {id}");
        Ok(())
    };
    let removal = About::new("delete_run", "/runs/{id}")
        .says("Delete a run that has ended, with everything in it.", "It is gone");
    let removal = delete(removal, "runs", find, remove).id("id", "The run").if_match();
    let pause = About::new("pause_run", "/runs/{id}/pause").says("Pause a run: no further work starts.", "The run");
    let pause = Endpoint::post(pause, "runs", pause_run).id("id", "The run").if_match().begins::<RunDetail>();
    let resume = About::new("resume_run", "/runs/{id}/resume").says("Resume a paused run.", "The run");
    let resume = Endpoint::post(resume, "runs", resume_run).id("id", "The run").if_match().begins::<RunDetail>();
    let cancel =
        About::new("cancel_run", "/runs/{id}/cancel").says("Cancel a run. Its work in progress is dropped.", "The run");
    let cancel = Endpoint::post(cancel, "runs", cancel_run).id("id", "The run").if_match().begins::<RunDetail>();
    vec![all, one, change, removal, pause, resume, cancel]
}

/// Changes to a run.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateRun {
    /// Its name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: Option<String>,
    /// A free-form note.
    #[schemars(length(max = bounds::NOTE))]
    note: Option<String>,
    /// Labels.
    #[schemars(length(max = bounds::TAGS))]
    tags: Option<Vec<String>>,
    /// Its experiment, by name or id.
    experiment: Option<String>,
    /// Items of runs with a higher priority are processed first.
    #[schemars(range(min = -MAX_PRIORITY, max = MAX_PRIORITY))]
    priority: Option<i16>,
    /// Maximum items in progress; 0 means no limit.
    #[schemars(range(max = 1_000_000))]
    max_concurrent: Option<u32>,
}

impl RequestBody for UpdateRun {}

/// Applies `act` to a run that still matches `If-Match`, and responds with the result. The run is locked in between.
async fn change(
    request: &HttpRequest,
    lab: &Lab,
    id: ExecutionId,
    act: impl AsyncFnOnce(&mut PgConnection) -> Result<(), StoreError>,
) -> Result<RunDetail, ApiError> {
    let mut tx = lab.store.pool().begin().await.map_err(StoreError::from)?;
    executions::lock(&mut tx, id).await?;
    check_if_match(request, &runs::find(&mut *tx, id).await?)?;
    act(&mut tx).await?;
    let run = runs::find(&mut *tx, id).await?;
    tx.commit().await.map_err(StoreError::from)?;
    Ok(run)
}

/// Applies `act` to a run and reports it as `done`; workers and coordinators notice by themselves.
async fn steer(
    request: &HttpRequest,
    lab: &Lab,
    id: ExecutionId,
    done: &str,
    act: impl AsyncFnOnce(&mut PgConnection) -> Result<(), StoreError>,
) -> Result<Answer<RunDetail>, ApiError> {
    let run = change(request, lab, id, act).await?;
    tracing::info!(run.id = %id, "{done} run {id}");
    Ok(Answer::accepted(run))
}

async fn update_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    sent: Document<UpdateRun>,
) -> Result<Answer<RunDetail>, ApiError> {
    let changes = RunChanges {
        name: sent.value.name.as_deref(),
        note: sent.value.note.as_deref(),
        tags: sent.value.tags.as_deref(),
        experiment: find_experiment(lab.store.pool(), sent.value.experiment.as_deref()).await?,
        priority: sent.value.priority,
        max_concurrent: sent.value.max_concurrent,
    };
    let run = change(&request, &lab, *id, async |db| runs::update(db, *id, &changes).await).await?;
    Ok(Answer::ok(run))
}

async fn pause_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<RunDetail>, ApiError> {
    steer(&request, &lab, *id, "paused", async |db| executions::pause(db, *id).await).await
}

async fn resume_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<RunDetail>, ApiError> {
    let run = runs::find(lab.store.pool(), *id).await?;
    let config = RunConfig::deserialize(&run.config).map_err(|error| ApiError::internal(&error))?;
    if let Some(fault) = base_weights::changed(&config).first() {
        return Err(ApiError::unprocessable(format!("{}: {}", fault.pointer, fault.detail)));
    }
    steer(&request, &lab, *id, "resumed", async |db| executions::resume(db, *id).await).await
}

async fn cancel_run(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<RunDetail>, ApiError> {
    steer(&request, &lab, *id, "cancelled", async |db| executions::cancel(db, *id).await).await
}
