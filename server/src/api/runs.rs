//! Lists of runs and single runs. Actions are in `run_actions`.

use actix_web::{HttpRequest, get, web};
use lyceum_core::id::{ExecutionId, ExperimentId};
use lyceum_store::{
    executions::State,
    experiments,
    runs::{self, Run, RunDetail, RunFilter, RunSort},
};
use schemars::JsonSchema;
use serde::Deserialize;
use sqlx::PgPool;
use uuid::Uuid;

use crate::{
    api_error::ApiError,
    contract::{Answer, Listing, Order, Page, Query, bounds},
    lab::Lab,
};
use lyceum_core::fault::Fault;

/// Filters of runs.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListRunsQuery {
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
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListRunsQuery);

pub(super) async fn find_experiment(db: &PgPool, name: Option<&str>) -> Result<Option<ExperimentId>, ApiError> {
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

/// List runs.
#[utoipa::path(
    tag = "runs",
    params(ListRunsQuery),
    responses((status = 200, description = "A page of runs", body = Page<Run>)),
    security(("token" = ["read"]))
)]
#[get("/runs")]
pub(crate) async fn list_runs(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<ListRunsQuery>,
) -> Result<Answer<Page<Run>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("runs", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = RunFilter {
        state: query.state,
        recipe: query.recipe,
        experiment: query.experiment.map(ExperimentId),
        arm: query.arm,
        tag: query.tag,
        name: query.name,
        ..RunFilter::default()
    };
    Ok(listing.answer(
        &request,
        runs::page(lab.store.pool(), &filter, &RunSort::Age, listing.window()).await?,
    ))
}

/// Show a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run")),
    responses((status = 200, description = "The run", body = RunDetail)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}")]
pub(crate) async fn show_run(lab: web::Data<Lab>, id: web::Path<ExecutionId>) -> Result<Answer<RunDetail>, ApiError> {
    Ok(Answer::ok(runs::find(lab.store.pool(), *id).await?))
}
