//! How much the questions of a run's iterations differ.

use actix_web::{get, web};
use lyceum_core::id::{ExecutionId, ProblemId};
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    api_error::ApiError,
    contract::{Answer, Query, bounds},
    lab::Lab,
    subjects::diversity::{self, Diversity, Neighbours, Wordings},
};

/// Rows by default.
const ROWS: u32 = 10;

/// The iteration and the number of rows requested.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IterationQuery {
    /// The iteration, from 1; by default the last one measured.
    #[schemars(range(min = 1, max = i32::MAX))]
    iteration: Option<u32>,
    /// Maximum number of rows; 10 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
}

crate::contract::query!(IterationQuery);

impl IterationQuery {
    fn rows(&self) -> usize {
        self.limit.unwrap_or(ROWS) as usize
    }
}

/// Show how much the questions of each iteration of a run differ.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run")),
    responses((status = 200, description = "The iterations", body = Diversity)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/diversity")]
pub(crate) async fn show_diversity(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<Diversity>, ApiError> {
    let run = runs::find(lab.store.pool(), *id).await?;
    Ok(Answer::ok(Diversity::read(&lab, &run).await?))
}

/// List the wordings most repeated in an iteration of a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), IterationQuery),
    responses((status = 200, description = "Wordings, the most repeated first", body = Wordings)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/diversity/wordings")]
pub(crate) async fn list_wordings(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
    query: Query<IterationQuery>,
) -> Result<Answer<Wordings>, ApiError> {
    let run = runs::find(lab.store.pool(), *id).await?;
    let chosen = Diversity::read(&lab, &run).await?.chosen(query.0.iteration)?;
    Ok(Answer::ok(
        diversity::wordings(&lab, *id, chosen, query.0.rows()).await?,
    ))
}

/// List the questions of an iteration that are nearest to a problem's, by default of its own iteration.
#[utoipa::path(
    tag = "runs",
    params(
        ("id" = Uuid, Path, description = "The run"),
        ("problem" = Uuid, Path, description = "The problem"),
        IterationQuery
    ),
    responses((status = 200, description = "Neighbours, the nearest first", body = Neighbours)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}/problems/{problem}/neighbours")]
pub(crate) async fn list_neighbours(
    lab: web::Data<Lab>,
    place: web::Path<(ExecutionId, ProblemId)>,
    query: Query<IterationQuery>,
) -> Result<Answer<Neighbours>, ApiError> {
    let (id, problem) = place.into_inner();
    let run = runs::find(lab.store.pool(), id).await?;
    let of_run = Diversity::read(&lab, &run).await?;
    let found = diversity::neighbours(&lab, (id, &of_run), problem, query.0.iteration, query.0.rows()).await?;
    Ok(Answer::ok(found))
}
