//! Evaluations: work on frozen versions that does not affect runs.

use actix_web::{HttpRequest, get, post, web};
use lyceum_core::{config::MAX_PRIORITY, evaluation::EvaluationSpec, fault::Fault, id::ExecutionId};
use lyceum_store::{
    evaluations::{self, Evaluation, EvaluationFilter, NewEvaluation},
    executions::{self, State},
    runs,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    api_error::ApiError,
    contract::{
        Answer, Listing, Order, Page, Query, TraceId, bounds, check_if_match,
        document::{Document, RequestBody},
        idempotent::{Begun, IdempotencyKey},
    },
    evaluation::{Request, configured},
    lab::Lab,
};

/// An evaluation to create.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateEvaluation {
    /// The measurement: `type` is `benchmark`, `cross_play`, `dataset_check`, `frozen_side`, `goalposts`, `operator_retention` or `regenerate`.
    #[schema(value_type = Object)]
    spec: EvaluationSpec,
    /// The random seed.
    #[serde(default)]
    seed: u64,
    /// Items of evaluations with a higher priority are processed first.
    #[serde(default)]
    #[schemars(range(min = -MAX_PRIORITY, max = MAX_PRIORITY))]
    priority: i16,
}

impl RequestBody for CreateEvaluation {}

/// Filters of evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListEvaluationsQuery {
    /// Of this run.
    run: Option<Uuid>,
    /// In this state.
    state: Option<State>,
    /// Rows per page; 50 by default.
    #[schemars(range(min = 1, max = bounds::ROWS))]
    limit: Option<u32>,
    /// `next` of the previous page.
    cursor: Option<String>,
    /// `newest` (the default) or `oldest` first.
    order: Option<Order>,
}

crate::contract::query!(ListEvaluationsQuery);

/// Create an evaluation, which starts at once.
#[utoipa::path(
    tag = "evaluations",
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeats the response of the request with the same key")),
    request_body = CreateEvaluation,
    responses((status = 201, description = "The evaluation", body = Evaluation)),
    security(("token" = ["write"]))
)]
#[post("/evaluations")]
pub(crate) async fn create_evaluation(
    lab: web::Data<Lab>,
    key: IdempotencyKey,
    trace: TraceId,
    sent: Document<CreateEvaluation>,
) -> Result<Answer<Value>, ApiError> {
    if let Some(answer) = key.answer(lab.store.pool(), &sent.fingerprint).await? {
        return Ok(answer);
    }
    let request = &sent.value;
    let name = request.spec.name();
    let Ok(recipe) = lab.registry.planner(&format!("evaluation/{name}")) else {
        let detail = format!("this server cannot plan evaluations of type `{name}` yet");
        return Err(ApiError::invalid(vec![Fault::new("/spec/type", detail)]));
    };
    let run = request.spec.run();
    if let Some(run) = run {
        let found = runs::find(lab.store.pool(), run).await;
        found.map_err(|error| ApiError::invalid(vec![Fault::new(request.spec.run_pointer(), error.to_string())]))?;
    }
    let asked = Request {
        store: &lab.store,
        registry: &lab.registry,
        planner: recipe.as_ref(),
        seed: request.seed,
        priority: request.priority,
    };
    let config = configured(&asked, &request.spec).await?;
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let id = ExecutionId(Uuid::now_v7());
    let state = recipe
        .begin(id, &config)
        .map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let new = NewEvaluation {
        spec: &request.spec,
        run,
        config: &config,
        state: &state,
        trace_id: Some(trace.as_str()),
    };
    evaluations::begin(&mut creation.tx, &new).await?;
    let made = evaluations::find(&mut *creation.tx, id).await?;
    let answer = creation.finish(&made, &format!("/api/v1/evaluations/{id}")).await?;
    tracing::info!(evaluation.id = %id, "created evaluation {id} of type {name}");
    Ok(answer)
}

/// List evaluations.
#[utoipa::path(
    tag = "evaluations",
    params(ListEvaluationsQuery),
    responses((status = 200, description = "A page of evaluations", body = Page<Evaluation>)),
    security(("token" = ["read"]))
)]
#[get("/evaluations")]
pub(crate) async fn list_evaluations(
    request: HttpRequest,
    lab: web::Data<Lab>,
    query: Query<ListEvaluationsQuery>,
) -> Result<Answer<Page<Evaluation>>, ApiError> {
    let query = query.0;
    let listing = Listing::new("evaluations", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = EvaluationFilter {
        run: query.run.map(ExecutionId),
        state: query.state,
        ..EvaluationFilter::default()
    };
    Ok(listing.answer(
        &request,
        evaluations::page(lab.store.pool(), &filter, listing.window()).await?,
    ))
}

/// Show an evaluation and its result.
#[utoipa::path(
    tag = "evaluations",
    params(("id" = Uuid, Path, description = "The evaluation")),
    responses((status = 200, description = "The evaluation", body = Evaluation)),
    security(("token" = ["read"]))
)]
#[get("/evaluations/{id}")]
pub(crate) async fn show_evaluation(
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<Evaluation>, ApiError> {
    Ok(Answer::ok(evaluations::find(lab.store.pool(), *id).await?))
}

/// Cancel an evaluation.
#[utoipa::path(
    tag = "evaluations",
    params(("id" = Uuid, Path, description = "The evaluation"), ("If-Match" = Option<String>, Header, description = "Its expected ETag")),
    responses((status = 202, description = "The evaluation", body = Evaluation)),
    security(("token" = ["write"]))
)]
#[post("/evaluations/{id}/cancel")]
pub(crate) async fn cancel_evaluation(
    request: HttpRequest,
    lab: web::Data<Lab>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<Evaluation>, ApiError> {
    let db = lab.store.pool();
    check_if_match(&request, &evaluations::find(db, *id).await?)?;
    executions::cancel(db, *id).await?;
    tracing::info!(evaluation.id = %id, "cancelled evaluation {id}");
    Ok(Answer::accepted(evaluations::find(db, *id).await?))
}
