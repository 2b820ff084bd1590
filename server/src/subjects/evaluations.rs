//! Evaluations: work on frozen versions that does not affect runs.

pub(crate) mod page;

use actix_web::web;
use lyceum_core::{config::MAX_PRIORITY, evaluation::EvaluationSpec, fault::Fault, id::ExecutionId};
use lyceum_store::{
    evaluations::{self, Evaluation, EvaluationFilter, NewEvaluation},
    executions::{self, State},
    page::Window,
    runs,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use sqlx::PgPool;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    api_error::ApiError,
    contract::{
        About, Answer, Endpoint, Filter, TraceId, act,
        document::{Document, RequestBody},
        idempotent::{Begun, IdempotencyKey},
        list, show,
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

/// Selects evaluations.
#[derive(Debug, Deserialize, JsonSchema)]
struct OfRun {
    /// Of this run.
    run: Option<Uuid>,
    /// In this state.
    state: Option<State>,
}

impl Filter for OfRun {}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let new = About {
        name: "create_evaluation",
        path: "/evaluations",
        summary: "Create an evaluation, which starts at once.",
        answer: "The evaluation",
    };
    let new = Endpoint::post(new, "evaluations", create_evaluation);
    let new = new.idempotent().takes::<CreateEvaluation>();
    let new = new.creates::<Evaluation>();
    let page = async |db: &PgPool, asked: &OfRun, window: &Window| {
        let filter = EvaluationFilter {
            run: asked.run.map(ExecutionId),
            state: asked.state,
            ..EvaluationFilter::default()
        };
        evaluations::page(db, &filter, window).await
    };
    let all = About {
        name: "list_evaluations",
        path: "/evaluations",
        summary: "List evaluations.",
        answer: "A page of evaluations",
    };
    let all = list(all, "evaluations", page);
    let find = async |db: &PgPool, id: ExecutionId| evaluations::find(db, id).await;
    let one = About {
        name: "show_evaluation",
        path: "/evaluations/{id}",
        summary: "Show an evaluation and its result.",
        answer: "The evaluation",
    };
    let one = show(one, "evaluations", find).id("id", "The evaluation");
    let stop = async |db: &PgPool, id: ExecutionId| {
        executions::cancel(db, id).await?;
        tracing::info!(evaluation.id = %id, "cancelled evaluation {id}");
        Ok(())
    };
    let cancel = About {
        name: "cancel_evaluation",
        path: "/evaluations/{id}/cancel",
        summary: "Cancel an evaluation.",
        answer: "The evaluation",
    };
    let cancel = act(cancel, "evaluations", find, stop)
        .id("id", "The evaluation")
        .if_match();
    vec![new, all, one, cancel]
}

async fn create_evaluation(
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
