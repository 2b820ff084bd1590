//! Evaluations: work on frozen versions that does not affect runs.

pub(crate) mod cost;
pub(crate) mod frozen_side;
pub(crate) mod new;
pub(crate) mod page;
pub(crate) mod prepare;
pub(crate) mod result;

use actix_web::web;
use lyceum_core::config::{MAX_PRIORITY, RunConfig};
use lyceum_core::evaluation::{EvaluationSpec, EvaluationType};
use lyceum_core::fault::Fault;
use lyceum_core::id::ExecutionId;
use lyceum_core::recipe::Planner;
use lyceum_store::evaluations::{self, Evaluation, EvaluationFilter, NewEvaluation};
use lyceum_store::executions::{self, State};
use lyceum_store::page::Window;
use lyceum_store::runs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgPool;
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

use self::cost::EvaluationCost;
use crate::api_error::ApiError;
use crate::contract::document::{Document, RequestBody};
use crate::contract::idempotent::{Begun, IdempotencyKey};
use crate::contract::{About, Answer, Endpoint, Filter, Query, TraceId, act, list, show};
use crate::lab::Lab;
use crate::subjects::evaluations::prepare::{Request, configured};

/// An evaluation to create.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateEvaluation {
    /// The measurement: `type` is `benchmark`, `cross_play`, `dataset_check`, `frozen_side`, `goalposts`, `majority_vote`, `operator_retention` or `regenerate`.
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

/// Whether to create the evaluation or only check it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateEvaluationQuery {
    /// `true` creates nothing and returns the resolved config and the cost.
    dry_run: Option<bool>,
}

/// What an evaluation would do, and its cost.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PlannedEvaluation {
    /// The config with everything that the spec names looked up.
    #[schema(value_type = Object)]
    config: Value,
    /// Its cost.
    cost: EvaluationCost,
}

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
    let new = About::new("create_evaluation", "/evaluations")
        .says("Create an evaluation, which starts at once.", "The evaluation");
    let new = Endpoint::post(new, "evaluations", create_evaluation).query::<CreateEvaluationQuery>().idempotent();
    let new = new.takes::<CreateEvaluation>().creates::<Evaluation>();
    let new = new.or_answers::<PlannedEvaluation>("200", "The resolved config and the cost (`dry_run`)");
    let page = async |db: &PgPool, asked: &OfRun, window: &Window| {
        let filter =
            EvaluationFilter { run: asked.run.map(ExecutionId), state: asked.state, ..EvaluationFilter::default() };
        evaluations::page(db, &filter, window).await
    };
    let all = About::new("list_evaluations", "/evaluations").says("List evaluations.", "A page of evaluations");
    let all = list(all, "evaluations", page);
    let find = async |db: &PgPool, id: ExecutionId| evaluations::find(db, id).await;
    let one =
        About::new("show_evaluation", "/evaluations/{id}").says("Show an evaluation and its result.", "The evaluation");
    let one = show(one, "evaluations", find).id("id", "The evaluation");
    let stop = async |db: &PgPool, id: ExecutionId| {
        executions::cancel(db, id).await?;
        tracing::info!(evaluation.id = %id, "cancelled evaluation {id}");
        Ok(())
    };
    let cancel =
        About::new("cancel_evaluation", "/evaluations/{id}/cancel").says("Cancel an evaluation.", "The evaluation");
    let cancel = act(cancel, "evaluations", find, stop).id("id", "The evaluation").if_match();
    vec![new, all, one, cancel]
}

async fn create_evaluation(
    lab: web::Data<Lab>,
    query: Query<CreateEvaluationQuery>,
    key: IdempotencyKey,
    trace: TraceId,
    sent: Document<CreateEvaluation>,
) -> Result<Answer<Value>, ApiError> {
    let is_trial = query.0.dry_run == Some(true);
    if !is_trial && let Some(answer) = key.answer(lab.store.pool(), &sent.fingerprint).await? {
        return Ok(answer);
    }
    let request = &sent.value;
    let (name, run) = (request.spec.name(), request.spec.run());
    let (config, recipe) = planned(&lab, &request.spec, request.seed, request.priority).await?;
    if is_trial {
        let planned = PlannedEvaluation {
            cost: EvaluationCost::of(lab.store.pool(), recipe.as_ref(), &config).await?,
            config: serde_json::to_value(&config).map_err(|error| ApiError::internal(&error))?,
        };
        let planned = serde_json::to_value(planned).map_err(|error| ApiError::internal(&error))?;
        return Ok(Answer::ok(planned));
    }
    let mut creation = match key.begin(lab.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let id = ExecutionId(Uuid::now_v7());
    let state = recipe.begin(id, &config).map_err(|error| ApiError::unprocessable(error.to_string()))?;
    let new =
        NewEvaluation { spec: &request.spec, run, config: &config, state: &state, trace_id: Some(trace.as_str()) };
    evaluations::begin(&mut creation.tx, &new).await?;
    let made = evaluations::find(&mut *creation.tx, id).await?;
    let answer = creation.finish(&made, &format!("/api/v1/evaluations/{id}")).await?;
    tracing::info!(evaluation.id = %id, "created evaluation {id} of type {name}");
    Ok(answer)
}

/// The config of the evaluation that `spec` describes, and its planner.
async fn planned(
    lab: &Lab,
    spec: &EvaluationSpec,
    seed: u64,
    priority: i16,
) -> Result<(RunConfig, Arc<dyn Planner>), ApiError> {
    let name = spec.name();
    let Ok(planner) = lab.registry.planner(&EvaluationType::from(spec).planner()) else {
        let detail = format!("this server cannot plan evaluations of type `{name}` yet");
        return Err(ApiError::invalid(vec![Fault::new("/spec/type", detail)]));
    };
    if let Some(run) = spec.run() {
        let found = runs::find(lab.store.pool(), run).await;
        found.map_err(|error| ApiError::invalid(vec![Fault::new(spec.run_pointer(), error.to_string())]))?;
    }
    let asked = Request { store: &lab.store, registry: &lab.registry, planner: planner.as_ref(), seed, priority };
    Ok((configured(&asked, spec).await?, planner))
}
