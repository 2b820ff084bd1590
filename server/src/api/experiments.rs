//! Experiments.

use actix_web::{HttpRequest, HttpResponse, delete, get, patch, post, web};
use lyceum_core::id::ExperimentId;
use lyceum_store::experiment::{self, Experiment};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::{
    Api,
    answer::{Answer, check_if_match},
    document::{Document, Sent},
    idempotent::{Begun, IdempotencyKey},
    page::{Listing, Order, Page},
    query::Query,
};
use crate::problem::Problem;

/// An experiment to be created.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateExperiment {
    /// What people call it; no two have the same name.
    #[schemars(length(min = 1, max = 200))]
    #[schema(min_length = 1, max_length = 200)]
    name: String,
    /// What it is about.
    #[serde(default)]
    #[schemars(length(max = 20000))]
    #[schema(max_length = 20000)]
    description: String,
}

/// What to change about an experiment.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateExperiment {
    /// What people call it.
    #[schemars(length(min = 1, max = 200))]
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// What it is about.
    #[schemars(length(max = 20000))]
    #[schema(max_length = 20000)]
    description: Option<String>,
}

/// Which experiments.
#[derive(Debug, Deserialize, JsonSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListExperimentsQuery {
    /// Whose name begins so, in any case.
    name: Option<String>,
    /// Rows of the page; 50 where it is left out.
    #[schemars(range(min = 1, max = 100))]
    #[param(minimum = 1, maximum = 100)]
    limit: Option<u32>,
    /// `next` of the page before.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    #[param(inline)]
    order: Option<Order>,
}

impl Sent for CreateExperiment {}
impl Sent for UpdateExperiment {}

/// Create an experiment.
#[utoipa::path(
    tag = "experiments",
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeats the answer of the request that had it")),
    request_body = CreateExperiment,
    responses((status = 201, description = "The experiment", body = Experiment)),
    security(("token" = ["write"]))
)]
#[post("/experiments")]
pub(crate) async fn create_experiment(
    api: web::Data<Api>,
    key: IdempotencyKey,
    sent: Document<CreateExperiment>,
) -> Result<Answer<Value>, Problem> {
    let mut creation = match key.begin(api.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let made = experiment::create(&mut creation.tx, &sent.value.name, &sent.value.description).await?;
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
    api: web::Data<Api>,
    query: Query<ListExperimentsQuery>,
) -> Result<Answer<Page<Experiment>>, Problem> {
    let listing = Listing::new("experiments", query.0.limit, query.0.cursor.as_deref(), query.0.order)?;
    Ok(listing.answer(
        &request,
        experiment::list(api.store.pool(), query.0.name.as_deref(), listing.window()).await?,
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
    api: web::Data<Api>,
    id: web::Path<ExperimentId>,
) -> Result<Answer<Experiment>, Problem> {
    Ok(Answer::ok(experiment::show(api.store.pool(), *id).await?))
}

/// Change an experiment.
#[utoipa::path(
    tag = "experiments",
    params(("id" = Uuid, Path, description = "The experiment"), ("If-Match" = Option<String>, Header, description = "The ETag that it must have")),
    request_body = UpdateExperiment,
    responses((status = 200, description = "The experiment", body = Experiment)),
    security(("token" = ["write"]))
)]
#[patch("/experiments/{id}")]
pub(crate) async fn update_experiment(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExperimentId>,
    sent: Document<UpdateExperiment>,
) -> Result<Answer<Experiment>, Problem> {
    let db = api.store.pool();
    check_if_match(&request, &experiment::show(db, *id).await?)?;
    let changes = sent.value;
    let changed = experiment::update(db, *id, changes.name.as_deref(), changes.description.as_deref()).await?;
    Ok(Answer::ok(changed))
}

/// Delete an experiment that has no runs.
#[utoipa::path(
    tag = "experiments",
    params(("id" = Uuid, Path, description = "The experiment")),
    responses((status = 204, description = "It is gone")),
    security(("token" = ["write"]))
)]
#[delete("/experiments/{id}")]
pub(crate) async fn delete_experiment(
    api: web::Data<Api>,
    id: web::Path<ExperimentId>,
) -> Result<HttpResponse, Problem> {
    experiment::remove(api.store.pool(), *id).await?;
    Ok(HttpResponse::NoContent().finish())
}
