//! Runs.

use actix_web::{HttpRequest, HttpResponse, delete, get, patch, post, web};
use lyceum_core::{
    config::{RunConfig, apply_overrides, pointer_token, resolve},
    fault::{Fault, Faults},
    id::{ExecutionId, ExperimentId},
};
use lyceum_store::{
    execution::{self, Fork, NewRun, RunChanges, State},
    experiment,
    list::{self, Run, RunDetail, RunFilter},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::PgPool;
use std::collections::BTreeMap;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::{
    Api,
    answer::{Answer, check_if_match},
    document::{Document, Sent},
    idempotent::{Begun, IdempotencyKey},
    page::{Listing, Order, Page},
    query::Query,
};
use crate::{log::TraceId, problem::Problem};

/// What a run is doing.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunState {
    /// Its work is being done.
    Running,
    /// Its work waits.
    Paused,
    /// All its steps are over.
    Completed,
    /// An item or its plan failed for good.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl From<RunState> for State {
    fn from(state: RunState) -> Self {
        match state {
            RunState::Running => Self::Running,
            RunState::Paused => Self::Paused,
            RunState::Completed => Self::Completed,
            RunState::Failed => Self::Failed,
            RunState::Cancelled => Self::Cancelled,
        }
    }
}

/// A run to be created: from a preset or a config, one of the two.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateRun {
    /// A preset, by name (`GET /api/v1/presets`).
    preset: Option<String>,
    /// A run config (`GET /api/v1/schema/run-config`).
    #[schema(value_type = Option<Object>)]
    config: Option<Map<String, Value>>,
    /// What people call it; the preset or the recipe where it is left out.
    #[schemars(length(min = 1, max = 200))]
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// The experiment that it belongs to, by name or id.
    experiment: Option<String>,
    /// Values over the config's own, by dotted path, such as `populations.main.lora.r`.
    #[serde(default)]
    #[schema(value_type = Object)]
    overrides: BTreeMap<String, Value>,
    /// Labels.
    #[serde(default)]
    #[schemars(length(max = 50))]
    #[schema(max_items = 50)]
    tags: Vec<String>,
    /// Anything.
    #[serde(default)]
    #[schemars(length(max = 20000))]
    #[schema(max_length = 20000)]
    note: String,
}

/// Whether to create, or only to say what would be.
#[derive(Debug, Deserialize, JsonSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct CreateRunQuery {
    /// `true` creates nothing and answers the resolved config.
    dry_run: Option<bool>,
}

/// What a run would be.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ResolvedRun {
    /// The config with every default written out.
    #[schema(value_type = Object)]
    config: Value,
    /// Names of its metrics.
    metrics: Vec<&'static str>,
}

/// Which runs.
#[derive(Debug, Deserialize, JsonSchema, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListRunsQuery {
    /// In this state.
    #[param(inline)]
    state: Option<RunState>,
    /// Of this recipe.
    recipe: Option<String>,
    /// Of this experiment.
    experiment: Option<Uuid>,
    /// Of this arm: the runs of one arm differ by seed alone.
    arm: Option<String>,
    /// With this tag.
    tag: Option<String>,
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

/// What to change about a run.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateRun {
    /// What people call it.
    #[schemars(length(min = 1, max = 200))]
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// Anything.
    #[schemars(length(max = 20000))]
    #[schema(max_length = 20000)]
    note: Option<String>,
    /// Labels.
    #[schemars(length(max = 50))]
    #[schema(max_items = 50)]
    tags: Option<Vec<String>>,
    /// The experiment that it belongs to, by name or id.
    experiment: Option<String>,
    /// Items of a run with a higher priority go first.
    #[schemars(range(min = -100, max = 100))]
    #[schema(minimum = -100, maximum = 100)]
    priority: Option<i16>,
    /// Items that are worked on at once, at most; 0 is no limit.
    #[schemars(range(max = 1_000_000))]
    #[schema(maximum = 1_000_000)]
    max_concurrent: Option<u32>,
}

/// Where to branch a run off, and what to change.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRun {
    /// The step before which it branches off.
    #[schemars(range(max = 1_000_000))]
    #[schema(maximum = 1_000_000)]
    step: u32,
    /// What people call the branch.
    #[schemars(length(min = 1, max = 200))]
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// Values over the config's own, by dotted path.
    #[serde(default)]
    #[schema(value_type = Object)]
    overrides: BTreeMap<String, Value>,
}

impl Sent for CreateRun {}
impl Sent for UpdateRun {}
impl Sent for ForkRun {}

/// Create a run, which begins at once.
#[utoipa::path(
    tag = "runs",
    params(CreateRunQuery, ("Idempotency-Key" = Option<String>, Header, description = "Repeats the answer of the request that had it")),
    request_body = CreateRun,
    responses(
        (status = 201, description = "The run", body = RunDetail),
        (status = 200, description = "What it would be (`dry_run`)", body = ResolvedRun),
    ),
    security(("token" = ["write"]))
)]
#[post("/runs")]
pub(crate) async fn create_run(
    api: web::Data<Api>,
    query: Query<CreateRunQuery>,
    key: IdempotencyKey,
    trace: TraceId,
    sent: Document<CreateRun>,
) -> Result<Answer<Value>, Problem> {
    let request = &sent.value;
    let config = configured(&api, request)?;
    let recipe = api
        .registry
        .get(&config.recipe)
        .map_err(|unknown| Problem::unprocessable(unknown.to_string()))?;
    if query.0.dry_run == Some(true) {
        let config = serde_json::to_value(&config).map_err(|error| Problem::internal(&error))?;
        let resolved = ResolvedRun {
            config,
            metrics: recipe.metrics().to_vec(),
        };
        let body = serde_json::to_value(resolved).map_err(|error| Problem::internal(&error))?;
        return Ok(Answer::ok(body));
    }
    let experiment = find_experiment(api.store.pool(), request.experiment.as_deref()).await?;
    let mut creation = match key.begin(api.store.pool(), sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let id = ExecutionId(Uuid::now_v7());
    let state = recipe
        .begin(id, &config)
        .map_err(|error| Problem::unprocessable(error.to_string()))?;
    let new = NewRun {
        name: request
            .name
            .as_deref()
            .or(request.preset.as_deref())
            .unwrap_or(&config.recipe),
        experiment,
        preset: request.preset.as_deref(),
        tags: &request.tags,
        note: &request.note,
        config: &config,
        state: &state,
        metrics: recipe.metrics(),
        trace_id: Some(trace.as_str()),
        forked_from: None,
    };
    execution::begin_run(&mut creation.tx, &new).await?;
    let run = list::run(&mut *creation.tx, id).await?;
    let answer = creation.finish(&run, &format!("/api/v1/runs/{id}")).await?;
    tracing::info!(run.id = %id, recipe = config.recipe, "created run {id}");
    Ok(answer)
}

/// The resolved config of a request.
fn configured(api: &Api, request: &CreateRun) -> Result<RunConfig, Problem> {
    let mut document = match (&request.preset, &request.config) {
        (Some(_), Some(_)) => {
            return Err(Problem::invalid(vec![Fault::new(
                "/config",
                "a preset is named too; send one of the two",
            )]));
        }
        (None, None) => {
            return Err(Problem::invalid(vec![Fault::new(
                "",
                "send a `preset` by name or a `config`",
            )]));
        }
        (Some(name), None) => {
            api.presets
                .get(name)
                .map_err(|unknown| Problem::invalid(vec![Fault::new("/preset", unknown)]))?
                .config
        }
        (None, Some(config)) => Value::Object(config.clone()),
    };
    apply_overrides(&mut document, &request.overrides)?;
    let config = resolve(&document, &api.registry);
    config.map_err(|faults| placed(faults, &request.overrides, request.preset.as_deref()))
}

/// Faults of a config, said at the place of the request that they come from.
fn placed(faults: Faults, overrides: &BTreeMap<String, Value>, preset: Option<&str>) -> Problem {
    let place = |fault: Fault| {
        let dotted = fault.pointer.trim_start_matches('/').replace('/', ".");
        let overridden = overrides
            .keys()
            .find(|path| dotted == **path || dotted.starts_with(&format!("{path}.")));
        match (overridden, preset) {
            (Some(path), _) => Fault::new(format!("/overrides/{}", pointer_token(path)), fault.detail),
            (None, Some(preset)) => Fault::new("/preset", format!("in `{preset}`: {fault}")),
            (None, None) => Fault::new(format!("/config{}", fault.pointer), fault.detail),
        }
    };
    Problem::invalid(faults.0.into_iter().map(place).collect())
}

async fn find_experiment(db: &PgPool, name: Option<&str>) -> Result<Option<ExperimentId>, Problem> {
    let Some(name) = name else { return Ok(None) };
    match experiment::find(db, name).await? {
        Some(id) => Ok(Some(id)),
        None => {
            let detail = format!("there is no experiment `{name}`; POST /api/v1/experiments makes one");
            Err(Problem::invalid(vec![Fault::new("/experiment", detail)]))
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
    api: web::Data<Api>,
    query: Query<ListRunsQuery>,
) -> Result<Answer<Page<Run>>, Problem> {
    let query = query.0;
    let listing = Listing::new("runs", query.limit, query.cursor.as_deref(), query.order)?;
    let filter = RunFilter {
        state: query.state.map(State::from),
        recipe: query.recipe,
        experiment: query.experiment.map(ExperimentId),
        arm: query.arm,
        tag: query.tag,
        name: query.name,
    };
    Ok(listing.answer(&request, list::runs(api.store.pool(), &filter, listing.window()).await?))
}

/// Show a run.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run")),
    responses((status = 200, description = "The run", body = RunDetail)),
    security(("token" = ["read"]))
)]
#[get("/runs/{id}")]
pub(crate) async fn show_run(api: web::Data<Api>, id: web::Path<ExecutionId>) -> Result<Answer<RunDetail>, Problem> {
    Ok(Answer::ok(list::run(api.store.pool(), *id).await?))
}

/// Change what people say of a run, and how it shares the workers.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("If-Match" = Option<String>, Header, description = "The ETag that the run must have")),
    request_body = UpdateRun,
    responses((status = 200, description = "The run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[patch("/runs/{id}")]
pub(crate) async fn update_run(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    sent: Document<UpdateRun>,
) -> Result<Answer<RunDetail>, Problem> {
    let db = api.store.pool();
    check_if_match(&request, &list::run(db, *id).await?)?;
    let changes = RunChanges {
        name: sent.value.name.as_deref(),
        note: sent.value.note.as_deref(),
        tags: sent.value.tags.as_deref(),
        experiment: find_experiment(db, sent.value.experiment.as_deref()).await?,
        priority: sent.value.priority,
        max_concurrent: sent.value.max_concurrent,
    };
    execution::update_run(db, *id, &changes).await?;
    Ok(Answer::ok(list::run(db, *id).await?))
}

/// Delete a run that is over, with everything that was made in it.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run")),
    responses((status = 204, description = "It is gone")),
    security(("token" = ["write"]))
)]
#[delete("/runs/{id}")]
pub(crate) async fn delete_run(api: web::Data<Api>, id: web::Path<ExecutionId>) -> Result<HttpResponse, Problem> {
    execution::remove_run(api.store.pool(), *id).await?;
    tracing::info!(run.id = %id, "deleted run {id}");
    Ok(HttpResponse::NoContent().finish())
}

/// Let no further work of a run begin.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("If-Match" = Option<String>, Header, description = "The ETag that the run must have")),
    responses((status = 202, description = "The run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[post("/runs/{id}/pause")]
pub(crate) async fn pause_run(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<RunDetail>, Problem> {
    let db = api.store.pool();
    check_if_match(&request, &list::run(db, *id).await?)?;
    execution::pause(db, *id).await?;
    tracing::info!(run.id = %id, "paused run {id}");
    Ok(Answer::accepted(list::run(db, *id).await?))
}

/// Let a paused run go on.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("If-Match" = Option<String>, Header, description = "The ETag that the run must have")),
    responses((status = 202, description = "The run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[post("/runs/{id}/resume")]
pub(crate) async fn resume_run(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<RunDetail>, Problem> {
    let db = api.store.pool();
    check_if_match(&request, &list::run(db, *id).await?)?;
    execution::resume(db, *id).await?;
    tracing::info!(run.id = %id, "resumed run {id}");
    Ok(Answer::accepted(list::run(db, *id).await?))
}

/// End a run that is not over. What is being done for it is dropped.
#[utoipa::path(
    tag = "runs",
    params(("id" = Uuid, Path, description = "The run"), ("If-Match" = Option<String>, Header, description = "The ETag that the run must have")),
    responses((status = 202, description = "The run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[post("/runs/{id}/cancel")]
pub(crate) async fn cancel_run(
    request: HttpRequest,
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
) -> Result<Answer<RunDetail>, Problem> {
    let db = api.store.pool();
    check_if_match(&request, &list::run(db, *id).await?)?;
    execution::cancel(db, *id).await?;
    tracing::info!(run.id = %id, "cancelled run {id}");
    Ok(Answer::accepted(list::run(db, *id).await?))
}

/// Branch a run off at a step, under its own config or a changed one.
#[utoipa::path(
    tag = "runs",
    params(
        ("id" = Uuid, Path, description = "The run that it branches off from"),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats the answer of the request that had it"),
    ),
    request_body = ForkRun,
    responses((status = 201, description = "The new run", body = RunDetail)),
    security(("token" = ["write"]))
)]
#[post("/runs/{id}/fork")]
pub(crate) async fn fork_run(
    api: web::Data<Api>,
    id: web::Path<ExecutionId>,
    key: IdempotencyKey,
    trace: TraceId,
    sent: Document<ForkRun>,
) -> Result<Answer<Value>, Problem> {
    let db = api.store.pool();
    let fork = &sent.value;
    let origin = list::run(db, *id).await?;
    let mut document = origin.config.clone();
    apply_overrides(&mut document, &fork.overrides)?;
    let config = resolve(&document, &api.registry).map_err(|faults| placed(faults, &fork.overrides, None))?;
    if config.recipe != origin.run.recipe {
        let detail = format!("a branch goes on with the recipe of its run, {}", origin.run.recipe);
        return Err(Problem::invalid(vec![Fault::new("/overrides/recipe", detail)]));
    }
    let recipe = api
        .registry
        .get(&config.recipe)
        .map_err(|unknown| Problem::unprocessable(unknown.to_string()))?;
    if fork.step >= config.steps {
        let detail = format!(
            "{} leaves nothing to do: the config has {} steps",
            fork.step, config.steps
        );
        return Err(Problem::invalid(vec![Fault::new("/step", detail)]));
    }
    let state = execution::state_at(db, *id, fork.step).await?;
    let mut creation = match key.begin(db, sent.fingerprint).await? {
        Begun::New(creation) => creation,
        Begun::Answered(answer) => return Ok(answer),
    };
    let new = ExecutionId(Uuid::now_v7());
    let name = fork
        .name
        .clone()
        .unwrap_or_else(|| branch_name(&origin.run.name, fork.step));
    let fork = Fork {
        id: new,
        from: *id,
        step: fork.step,
        state,
        name: &name,
        config: &config,
        metrics: recipe.metrics(),
        trace_id: Some(trace.as_str()),
    };
    execution::fork_run(&mut creation.tx, &fork).await?;
    let run = list::run(&mut *creation.tx, new).await?;
    let answer = creation.finish(&run, &format!("/api/v1/runs/{new}")).await?;
    tracing::info!(run.id = %new, run.forked_from = %id, "forked run {id} at step {} into {new}", fork.step);
    Ok(answer)
}

/// Names have 200 characters at most.
fn branch_name(name: &str, step: u32) -> String {
    let kept: String = name.chars().take(170).collect();
    format!("{kept} (from step {step})")
}
