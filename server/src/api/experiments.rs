//! Experiments.

use actix_web::{HttpRequest, HttpResponse, delete, get, patch, post, web};
use lyceum_core::id::ExperimentId;
use lyceum_store::experiments::{self, Experiment, ExperimentChanges, ExperimentFilter, NewExperiment};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    api_error::ApiError,
    contract::{
        Answer, Listing, Order, Page, Query, bounds, check_if_match,
        document::{Document, RequestBody},
        idempotent::{Begun, IdempotencyKey},
    },
    lab::Lab,
};

/// An experiment to create.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateExperiment {
    /// Its name, which must be unique.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: String,
    /// Its description.
    #[serde(default)]
    #[schemars(length(max = bounds::NOTE))]
    description: String,
    /// Labels.
    #[serde(default)]
    #[schemars(length(max = bounds::TAGS))]
    tags: Vec<String>,
}

/// Changes to an experiment.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateExperiment {
    /// Its name.
    #[schemars(length(min = 1, max = bounds::NAME))]
    name: Option<String>,
    /// Its description.
    #[schemars(length(max = bounds::NOTE))]
    description: Option<String>,
    /// Labels.
    #[schemars(length(max = bounds::TAGS))]
    tags: Option<Vec<String>>,
}

/// Filters of experiments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListExperimentsQuery {
    /// Whose name starts with this, ignoring case.
    name: Option<String>,
    /// With this tag.
    tag: Option<String>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListExperimentsQuery);

impl RequestBody for CreateExperiment {}
impl RequestBody for UpdateExperiment {}

/// Create an experiment.
#[utoipa::path(
    tag = "experiments",
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeats the response of the request with the same key")),
    request_body = CreateExperiment,
    responses((status = 201, description = "The experiment", body = Experiment)),
    security(("token" = ["write"]))
)]
#[post("/experiments")]
pub(crate) async fn create_experiment(
    lab: web::Data<Lab>,
    key: IdempotencyKey,
    sent: Document<CreateExperiment>,
) -> Result<Answer<Value>, ApiError> {
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let new = NewExperiment {
        name: &sent.value.name,
        description: &sent.value.description,
        tags: &sent.value.tags,
    };
    let made = experiments::create(&mut creation.tx, &new).await?;
    creation
        .finish(&made, &format!("/api/v1/experiments/{}", made.id))
        .await
}

/// List experiments.
#[utoipa::path(
    tag = "experiments",
    params(ListExperimentsQuery),
    responses((status = 200, description = "A page of experiments", body = Page<Experiment>)),
    security(("token" = ["read"]))
)]
#[get("/experiments")]
pub(crate) async fn list_experiments(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<ListExperimentsQuery>,
) -> Result<Answer<Page<Experiment>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("experiments", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = ExperimentFilter {
        name: query.name,
        tag: query.tag,
    };
    Ok(listing.answer(
        &request,
        experiments::page(lab.store.pool(), &filter, listing.window()).await?,
    ))
}

/// Show an experiment.
#[utoipa::path(
    tag = "experiments",
    params(("id" = Uuid, Path, description = "The experiment")),
    responses((status = 200, description = "The experiment", body = Experiment)),
    security(("token" = ["read"]))
)]
#[get("/experiments/{id}")]
pub(crate) async fn show_experiment(
    lab: web::Data<Lab>,
    id: web::Path<ExperimentId>,
) -> Result<Answer<Experiment>, ApiError> {
    Ok(Answer::ok(experiments::find(lab.store.pool(), *id).await?))
}

/// Change an experiment.
#[utoipa::path(
    tag = "experiments",
    params(("id" = Uuid, Path, description = "The experiment"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    request_body = UpdateExperiment,
    responses((status = 200, description = "The experiment", body = Experiment)),
    security(("token" = ["write"]))
)]
#[patch("/experiments/{id}")]
pub(crate) async fn update_experiment(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExperimentId>,
    sent: Document<UpdateExperiment>,
) -> Result<Answer<Experiment>, ApiError> {
    let db = lab.store.pool();
    check_if_match(&request, &experiments::find(db, *id).await?)?;
    let changes = ExperimentChanges {
        name: sent.value.name.as_deref(),
        description: sent.value.description.as_deref(),
        tags: sent.value.tags.as_deref(),
    };
    Ok(Answer::ok(experiments::update(db, *id, &changes).await?))
}

/// Delete an experiment that has no runs.
#[utoipa::path(
    tag = "experiments",
    params(("id" = Uuid, Path, description = "The experiment"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    responses((status = 204, description = "It is gone")),
    security(("token" = ["write"]))
)]
#[delete("/experiments/{id}")]
pub(crate) async fn delete_experiment(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExperimentId>,
) -> Result<HttpResponse, ApiError> {
    let db = lab.store.pool();
    check_if_match(&request, &experiments::find(db, *id).await?)?;
    experiments::remove(db, *id).await?;
    Ok(HttpResponse::NoContent().finish())
}
